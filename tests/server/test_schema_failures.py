"""What a client is told about a body that fails its schema."""

import re
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from sonde.schema import PatchSweepRequest
from sonde.schema.base import Wire
from sonde.server.errors import add_error_handlers
from sonde.server.schema_failures import shown, unreadable

pytestmark = pytest.mark.anyio

SWEEP: dict[str, Any] = {"prompt": "p", "layers": [0]}


class Inner(Wire):
    """Something nested."""

    weight: float


class Outer(Wire):
    """Something with lists and unions of models."""

    items: list[Inner | int] = []
    by_name: dict[str, Inner] = {}


@pytest.fixture(scope="module")
def app() -> FastAPI:
    app = FastAPI()
    add_error_handlers(app)

    @app.post("/v1/patch_sweep")
    async def sweep(body: PatchSweepRequest, limit: int = 1) -> None:
        assert body

    @app.post("/outer")
    async def outer(body: Outer) -> None:
        assert body

    return app


async def failure(app: FastAPI, path: str, body: object, **options: Any) -> tuple[str, str | None]:
    """The message and the field of a refusal."""
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        content = {"content": body} if isinstance(body, bytes) else {"json": body}
        headers = {"Content-Type": "application/json"}
        answer = await http.post(path, **content, headers=headers, **options)
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert (error["type"], error["code"]) == ("Bad Request", 400)
    return error["message"], error["param"]


@pytest.mark.parametrize(
    ("fields", "param", "says"),
    [
        ({"alpa": 1}, "alpa", "did you mean 'alpha'?"),
        ({"Hooks": ["post_block"]}, "Hooks", "did you mean 'hooks'?"),
        ({"zzz": 1}, "zzz", "known are alpha, answer_token"),
        ({"layers": {"start": 0, "stp": 3}}, "layers.stp", "did you mean 'stop'?"),
        ({"positions": [0, {"spam": "x"}]}, "positions.1.spam", "did you mean 'span'?"),
        ({"positions": [0, {"span": 5}]}, "positions.1.span", "valid string; it was 5"),
        ({"alpha": "1e999"}, "alpha", 'finite number; it was "1e999"'),
        ({"alpha": None}, "alpha", "valid number; it was null"),
        ({"layers": [0, True]}, "layers.1", "not true or false; it was true"),
        ({"layers": [2.5]}, "layers.0", "it was 2.5"),
        ({"layers": "all"}, "layers", 'valid list, or: .*; it was "all"'),
        ({"positions": "all"}, "positions", "'all_prompt'"),
        ({"metric": "prob"}, "metric", "'logprob', 'logit_diff' or 'recovered'"),
        ({"mask": {"indices": ["a"]}}, "mask.indices.0", "valid integer"),
        ({"patch_vectors": {"dtype": "float32"}}, "patch_vectors.shape", "is required"),
        ({"layers": ["x"] * 1000, "alpha": []}, "layers.0", 'it was "x"'),
        ({"hook": list(range(1000))}, "hook", "it was a list of 1,000"),
    ],
)
async def test_it_names_the_field_what_was_sent_and_what_would_work(
    app: FastAPI, fields: dict[str, Any], param: str, says: str
) -> None:
    message, named = await failure(app, "/v1/patch_sweep", SWEEP | fields)
    assert named == param
    assert re.search(says, message), message


async def test_a_missing_field_is_named(app: FastAPI) -> None:
    message = await failure(app, "/v1/patch_sweep", {"layers": [0]})
    assert message == ("prompt: this field is required", "prompt")


async def test_typos_are_found_in_lists_unions_and_mappings(app: FastAPI) -> None:
    _, param = await failure(app, "/outer", {"items": [3, {"wieght": 1}]})
    assert param == "items.1.wieght"
    message, _ = await failure(app, "/outer", {"by_name": {"a": {"wieght": 1}}})
    assert "did you mean 'weight'?" in message


async def test_a_parameter_of_the_url_is_named_too(app: FastAPI) -> None:
    message, param = await failure(app, "/v1/patch_sweep", SWEEP, params={"limit": "x"})
    assert param == "limit"
    assert message.endswith('it was "x"')


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"{", "not JSON: Expecting property name .* at character 1"),
        (b"", "the body: field required"),
        (b"null", "send a JSON object"),
        (b"[1]", "send a JSON object"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"prompt": ' + b"1" * 5000 + b"}", "thousands of digits"),
        (b'{"prompt": "\xff"}', "not UTF-8"),
    ],
)
async def test_a_body_that_cannot_be_read_says_why(app: FastAPI, body: bytes, says: str) -> None:
    message, param = await failure(app, "/v1/patch_sweep", body)
    assert re.search(says, message), message
    assert param is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a" * 10_000, '"' + "a" * 58 + "…"),
        ([1] * 61, "a list of 61"),
        ({str(i): i for i in range(61)}, "an object of 61"),
        (10**4000, "1" + "0" * 58 + "…"),
        ("\ud83d", '"\\ud83d"'),
    ],
)
def test_a_value_is_repeated_in_part(value: object, expected: str) -> None:
    assert shown(value) == expected


def test_a_value_that_cannot_be_written_is_named_by_its_kind() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert shown(deep) == "list"


def test_any_other_cause_is_repeated() -> None:
    assert unreadable(ValueError("odd")).message == "the body cannot be read: odd"
