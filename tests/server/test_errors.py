"""One table from errors to answers, and the two shapes of a body."""

import json
import pathlib
from collections.abc import Iterator
from typing import Annotated

import httpx
import pytest
from fastapi import FastAPI, Path
from starlette.exceptions import HTTPException

from sonde import errors as package
from sonde.errors import (
    BadRequest,
    BaselineFailed,
    CaptureFailed,
    ControlFailed,
    HookNeverFired,
    JobCancelled,
    RequestTooLarge,
    ServerBusy,
    ServerStopping,
    SondeError,
    SweepNotFinished,
    UnknownModel,
    UnknownSourceRun,
    UnknownSweep,
)
from sonde.server.app import create_app
from sonde.server.errors import (
    ANSWERS,
    OpenAIError,
    add_error_handlers,
    answer_to,
    error_response,
    is_plain,
    openai_event,
)
from tests.scripted import Scripted
from tests.server.talking import parts_over

SWEEP, SOURCE, COMPLETION = "/v1/patch_sweep", "/v1/patch_source/a", "/v1/completions"


def subclasses(of: type[SondeError]) -> Iterator[type[SondeError]]:
    for each in of.__subclasses__():
        yield each
        yield from subclasses(each)


@pytest.mark.parametrize(
    ("error", "at_sweeps", "at_completions"),
    [
        (BadRequest("x"), 400, 400),
        (UnknownSourceRun("x"), 400, 400),
        (BaselineFailed("x"), 500, 500),
        (CaptureFailed("x"), 500, 500),
        (RequestTooLarge("x", 2, 1, "y"), 413, 413),
        (UnknownModel("x"), 404, 404),
        (UnknownSweep("x"), 404, 404),
        (SweepNotFinished("x", "running"), 409, 409),
        (HookNeverFired("x"), 500, 502),
        (ControlFailed("x"), 500, 502),
        (JobCancelled(), 409, 409),
        (ServerBusy(7), 429, 429),
        (ServerStopping(), 503, 503),
    ],
)
def test_the_table(error: SondeError, at_sweeps: int, at_completions: int) -> None:
    plain, openai = error_response(SWEEP, error), error_response(COMPLETION, error)
    assert (plain.status_code, openai.status_code) == (at_sweeps, at_completions)
    assert json.loads(bytes(plain.body)) == {"error": str(error)}
    body = json.loads(bytes(openai.body))["error"]
    assert (body["message"], body["code"]) == (str(error), at_completions)
    assert set(body) == {"message", "type", "param", "code"}


def test_every_error_has_a_row_of_its_own_or_of_a_kind_above_it() -> None:
    for kind in subclasses(SondeError):
        assert set(kind.__mro__) & set(ANSWERS), f"add {kind.__name__} to ANSWERS"
    assert set(ANSWERS) <= {getattr(package, kind.__name__) for kind in ANSWERS}


def test_a_run_that_is_not_stored_is_404_where_the_path_names_it() -> None:
    assert error_response(SOURCE, UnknownSourceRun("x")).status_code == 404


def test_a_client_that_should_try_again_is_told_when() -> None:
    assert error_response(SWEEP, ServerBusy(7, retry_after=9)).headers["Retry-After"] == "9"
    assert "Retry-After" in error_response(SWEEP, ServerStopping()).headers
    assert "Retry-After" not in error_response(SWEEP, BadRequest("x")).headers


def test_an_unknown_model_names_the_field() -> None:
    body = json.loads(bytes(error_response(COMPLETION, UnknownModel("no gpt9")).body))["error"]
    assert (body["type"], body["param"]) == ("NotFoundError", "model")


def test_a_stream_that_has_begun_says_the_same_in_its_last_event() -> None:
    event = openai_event(HookNeverFired("position 9 was not reached"))
    assert event == {
        "error": {
            "message": "position 9 was not reached",
            "type": "PatchNotAppliedError",
            "param": None,
            "code": 502,
        }
    }


def test_what_nobody_listed_is_our_fault() -> None:
    assert answer_to(SondeError("x")).status == 500


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        (SWEEP, True),
        (f"{SWEEP}/abc/events", True),
        ("/v1/patch_source", True),
        ("/v1/patch_sweeper", False),
        (COMPLETION, False),
        ("/tokenize", False),
        ("/", False),
    ],
)
def test_only_sweep_and_source_routes_answer_with_a_plain_string(path: str, plain: bool) -> None:
    assert is_plain(path) is plain


@pytest.fixture
def app() -> FastAPI:
    app = FastAPI()
    add_error_handlers(app)

    @app.get("/v1/completions/{id}")
    async def blamed(id: Annotated[str, Path(pattern="^[a-z]+$")]) -> None:
        raise OpenAIError("too many", status=422, param="logit_bias", headers={"X-A": "b"})

    @app.get("/v1/patch_sweep/{id}")
    async def raised(id: str) -> None:
        raise HTTPException(418, "tea") if id == "tea" else BadRequest("half of \ud83d a pair")

    return app


async def got(app: FastAPI, method: str, path: str) -> httpx.Response:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        return await http.request(method, path)


@pytest.mark.anyio
async def test_a_route_can_name_the_field_to_blame(app: FastAPI) -> None:
    answer = await got(app, "GET", "/v1/completions/a")
    assert (answer.status_code, answer.headers["X-A"]) == (422, "b")
    assert answer.json()["error"]["param"] == "logit_bias"


@pytest.mark.anyio
async def test_unknown_routes_and_methods_are_answered_in_json(app: FastAPI) -> None:
    absent, wrong = await got(app, "GET", "/nowhere"), await got(app, "PUT", "/v1/completions/a")
    assert (absent.status_code, wrong.status_code) == (404, 405)
    assert "openapi.json" in absent.json()["error"]["message"]
    assert wrong.headers["Allow"] == "GET"
    assert "GET" in wrong.json()["error"]["message"]
    plain = await got(app, "GET", "/v1/patch_sweep/a/b/c")
    assert isinstance(plain.json()["error"], str)


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/v1/patch_sweep", "GET, POST"),
        ("/v1/patch_sweep/a", "GET, DELETE"),
        ("/v1/patch_source/a", "GET, DELETE"),
        ("/v1/patch_sweep/a/events", "GET"),
        ("/tokenize", "POST"),
        ("/v1/models", "GET"),
        ("/health", "GET"),
        ("/", "GET, HEAD"),
    ],
)
@pytest.mark.anyio
async def test_10_a_method_that_is_not_possible_is_told_all_that_are(
    tmp_path: pathlib.Path, path: str, methods: str
) -> None:
    with parts_over(Scripted(), tmp_path) as parts:
        answer = await got(create_app(parts), "PUT", path)
    assert (answer.status_code, answer.headers["Allow"]) == (405, methods)
    assert f"it takes {methods}" in answer.text


@pytest.mark.anyio
async def test_what_the_framework_raises_keeps_its_words(app: FastAPI) -> None:
    answer = await got(app, "GET", "/v1/patch_sweep/tea")
    assert (answer.status_code, answer.json()) == (418, {"error": "tea"})


@pytest.mark.anyio
async def test_a_message_that_is_no_unicode_is_still_an_answer(app: FastAPI) -> None:
    answer = await got(app, "GET", "/v1/patch_sweep/a")
    assert answer.json() == {"error": "half of \ud83d a pair"}


@pytest.mark.anyio
async def test_a_path_that_fails_its_pattern_is_400_in_the_openai_shape(app: FastAPI) -> None:
    error = (await got(app, "GET", "/v1/completions/..A")).json()["error"]
    assert (error["code"], error["type"], error["param"]) == (400, "Bad Request", "id")
