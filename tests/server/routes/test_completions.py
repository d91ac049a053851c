"""`/v1/completions` over HTTP: what clients of the contract send, and what they get."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import numpy as np
import pytest

from sonde.schema import CLASSIC_HOOKS
from tests.engine.test_vectors import packed
from tests.server.tiny_server import (
    LAYERS,
    OTHER,
    PROMPT,
    WIDTH,
    Served,
    chatting_backend,
    served,
)

ROUTE = "/v1/completions"
POSITIONS = 8


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(chatting_backend(), tmp_path_factory.mktemp("completions")) as running:
        yield running


@pytest.fixture
def http(here: Served) -> Iterator[httpx.Client]:
    """A client, and afterwards an empty store without leases."""
    yield here.http
    for run, held in here.parts.backend.manifests().items():
        assert held.lease_seconds is None, "somebody still holds a lease"
        here.parts.backend.drop(run)


def ask(http: httpx.Client, **fields: Any) -> Any:
    """The answer to a request that must succeed, without NaN or infinity."""
    given = {"prompt": PROMPT, "max_tokens": 1, "temperature": 0} | fields
    answer = http.post(ROUTE, json=given)
    assert answer.status_code == 200, answer.text
    return json.loads(answer.text, parse_constant=lambda _: pytest.fail("not JSON"))


def refused(http: httpx.Client, status: int = 400, **fields: Any) -> tuple[str, str | None]:
    """Message and field of a request that must fail, streamed or not."""
    given = {"prompt": PROMPT, "max_tokens": 1} | fields
    answers = [http.post(ROUTE, json=given | {"stream": stream}) for stream in (False, True)]
    assert [answer.status_code for answer in answers] == [status, status], answers[0].text
    errors = [answer.json()["error"] for answer in answers]
    assert errors[0] == errors[1]
    assert (set(errors[0]), errors[0]["code"]) == ({"message", "type", "param", "code"}, status)
    return errors[0]["message"], errors[0]["param"]


def capture(http: httpx.Client, prompt: str = PROMPT, run: str = "clean", **fields: Any) -> Any:
    source = {"run": run, "hooks": dict.fromkeys(CLASSIC_HOOKS, "all")} | fields
    answer = ask(http, prompt=prompt, capture={"patch_source": source}, capture_wait=True)
    return answer["capture_results"]["patch_source"]


def first_logprobs(answer: Any) -> dict[str, float]:
    found: dict[str, float] = answer["choices"][0]["logprobs"]["top_logprobs"][0]
    return found


def test_what_the_contracts_client_sends_is_answered_as_it_reads_it(http: httpx.Client) -> None:
    answer = ask(http, model="tiny", logprobs=20, logprob_token_ids=[280, 274])
    found = first_logprobs(answer)
    assert {" city", " of"} <= set(found)
    assert len(found) <= 3
    choice = answer["choices"][0]
    assert choice["logprobs"]["tokens"][0] in found
    assert choice["logprobs"]["token_logprobs"][0] == max(found.values())
    assert answer["usage"]["prompt_tokens"] == POSITIONS
    assert (answer["object"], answer["model"], choice["index"]) == ("text_completion", "tiny", 0)


def test_a_completion_patched_at_a_site_is_the_cell_of_a_sweep_bit_for_bit(
    http: httpx.Client,
) -> None:
    """The per-cell path of the contract's client against the server's own grid."""
    assert capture(http)["status"] == "ok"
    body = {
        "prompt": OTHER, "source_run": "clean", "layers": list(range(LAYERS)), "alpha": 0.7,
        "hooks": list(CLASSIC_HOOKS), "answer_token": " city",
    }  # fmt: skip
    grids = http.post("/v1/patch_sweep", json=body).json()["hook_grids"]
    [answer_id] = http.post("/tokenize", json={"prompt": " city"}).json()["tokens"]
    for grid in grids:
        for layer in range(LAYERS):
            for position in range(POSITIONS):
                patch = {"hook": grid["hook"], "layer": layer, "dest_position": position}
                source = {"source_run": "clean", "source_position": position, "alpha": 0.7}
                answer = ask(
                    http, prompt=OTHER, patch=[patch | source], logprobs=1,
                    logprob_token_ids=[answer_id],
                )  # fmt: skip
                assert first_logprobs(answer)[" city"] == grid["grid"][layer][position]


def test_a_patch_with_its_own_activation_or_alpha_zero_changes_no_bit(http: httpx.Client) -> None:
    capture(http)
    plain = ask(http, logprobs=20)["choices"]
    for hook in CLASSIC_HOOKS:
        patch = {"hook": hook, "layer": 1, "dest_position": 4}
        own = patch | {"source_run": "clean", "source_position": 4}
        none = patch | {"source_module": "zeros", "alpha": 0}
        for each in (own, none):
            assert ask(http, logprobs=20, patch=[each])["choices"] == plain


def test_replacing_every_position_gives_the_clean_run(http: httpx.Client) -> None:
    capture(http)
    patch = [
        {"hook": "post_block", "layer": 1, "dest_position": p, "source_run": "clean",
         "source_position": p}
        for p in range(POSITIONS)
    ]  # fmt: skip
    clean, patched = ask(http, logprobs=20), ask(http, prompt=OTHER, logprobs=20, patch=patch)
    assert patched["choices"] == clean["choices"]


def test_vectors_come_from_a_table_or_a_name_and_masks_choose_dimensions(
    http: httpx.Client,
) -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(2, WIDTH)).astype(np.float32)
    table[1] = [1.0] * 4 + [0.0] * (WIDTH - 4)
    sent = packed(table).model_dump()
    named = {"hook": "mlp_out", "layer": 1, "inline": 0}
    register = {"name": "mood", "vectors": [named], "patch_vectors": sent, "replace": True}
    assert http.post("/v1/steering/modules/register", json=register).status_code == 200
    place = {"hook": "mlp_out", "layer": 1, "dest_position": 5}

    def with_patch(**patch: Any) -> dict[str, float]:
        fields = {"patch_vectors": sent} if "inline" in str(patch) else {}
        return first_logprobs(ask(http, logprobs=20, patch=[place | patch], **fields))

    inline = with_patch(source_inline=0)
    assert inline == with_patch(source_module="mood")
    assert inline != with_patch(source_module="zeros")
    masked = with_patch(source_inline=0, mask={"indices": [0, 1, 2, 3]})
    assert masked == with_patch(source_inline=0, mask={"inline": 1})
    assert masked != inline


def test_a_capture_is_there_when_the_answer_is(http: httpx.Client) -> None:
    result = capture(http, hooks={"mlp_in": [0], "post_block": [2]}, positions="last_prompt")
    assert (result["status"], result["error"]) == ("ok", None)
    held = http.get("/v1/patch_source/clean").json()
    assert (held["hooks"], held["layers"]) == (["post_block", "mlp_in"], [0, 2])
    assert (held["positions"], held["n_tokens"]) == ([POSITIONS - 1], POSITIONS)
    assert result["payload"]["generation"] == held["generation"]


def test_a_capture_without_a_name_has_the_completions(http: httpx.Client) -> None:
    answer = ask(http, max_tokens=0, capture={"patch_source": {"hooks": {"mlp_in": "all"}}})
    assert http.get(f"/v1/patch_source/{answer['id']}").status_code == 200
    assert answer["choices"][0]["text"] == ""


def test_a_capture_of_a_name_again_replaces_it_whole(http: httpx.Client) -> None:
    capture(http, hooks={"mlp_in": [0]})
    capture(http, prompt="The city", hooks={"mlp_out": [1]})
    held = http.get("/v1/patch_source/clean").json()
    assert (held["hooks"], held["layers"], held["n_tokens"]) == (["mlp_out"], [1], 2)


ZEROS = {"layer": 1, "hook": "mlp_out", "dest_position": 2, "source_module": "zeros"}
SMALL: dict[str, Any] = {"hooks": {"mlp_in": "all"}}
CAPTURE = {"patch_source": SMALL}


@pytest.mark.parametrize(
    ("fields", "param", "message"),
    [
        ({"patch": [ZEROS | {"hook": "attn"}]}, "patch", "not injectable"),
        ({"patch": [ZEROS | {"source_run": "r"}]}, "patch", "set exactly one"),
        ({"patch": [{"hook": "mlp_out"}]}, "patch", "patch.0.layer: this field is required"),
        ({"patch": [ZEROS | {"lay": 1}]}, "patch", "did you mean 'layer'?"),
        ({"patch": [ZEROS | {"alpha": "inf"}]}, "patch", "patch.0.alpha: Input should be a finite"),
        ({"patch": [ZEROS | {"layer": True}]}, "patch", "not true or false"),
        ({"patch": ZEROS}, "patch", "valid list"),
        ({"capture": {"logits": {}}}, "capture.logits", "unknown field"),
        ({"capture": {"patch_source": {}}}, "capture.patch_source", "hooks: this field is"),
        ({"capture": CAPTURE, "patch": [ZEROS]}, "capture", "unpatched prompt"),
        ({"capture": {"patch_source": {"run": "a/b", "hooks": {"mlp_in": "all"}}}},
         "capture.patch_source", "should match pattern"),
        ({"logprob_token_ids": [1]}, "logprob_token_ids", "needs logprobs"),
        ({"logit_bias": {"1": 2}}, "logit_bias", "not supported"),
        ({"max_token": 3}, "max_token", "did you mean 'max_tokens'?"),
        ({"prompt": {}}, "prompt", "valid string"),
        ({"prompt": [1, "a"]}, "prompt", "prompt"),
        ({"temperature": -1}, "temperature", "greater than or equal to 0"),
        ({"temperature": "NaN"}, "temperature", "finite"),
        ({"top_p": 0}, "top_p", "greater than 0"),
        ({"n": 0}, "n", "greater than or equal to 1"),
        ({"logprobs": 129}, "logprobs", "less than or equal to 128"),
        ({"logprobs": True}, "logprobs", "not true or false"),
        ({"seed": 2**63}, "seed", "less than"),
        ({"max_tokens": 10**30}, "max_tokens", "takes at most 64"),
    ],
)  # fmt: skip
def test_a_request_that_makes_no_sense_is_refused(
    http: httpx.Client, fields: Any, param: str, message: str
) -> None:
    said, blamed = refused(http, **fields)
    assert message in said
    assert blamed is not None
    assert blamed == param or blamed.startswith(f"{param}.")


def test_a_missing_run_is_refused_before_anything_runs(http: httpx.Client) -> None:
    patch = {"layer": 1, "hook": "mlp_out", "dest_position": 2}
    said, param = refused(http, patch=[patch | {"source_run": "gone", "source_position": 2}])
    assert "patch source not found" in said
    assert param == "patch"


def test_another_model_is_not_found(http: httpx.Client) -> None:
    answer = http.post(ROUTE, json={"prompt": PROMPT, "model": "gpt-9"})
    error = answer.json()["error"]
    assert (answer.status_code, error["type"], error["param"]) == (404, "NotFoundError", "model")


def test_patches_that_overflow_are_refused_and_not_answered(http: httpx.Client) -> None:
    said, _ = refused(http, patch=[ZEROS | {"alpha": 1e300, "hook": "post_block"}])
    assert "not finite" in said


def test_a_capture_beyond_the_budget_is_refused_and_stores_nothing(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with served(chatting_backend(source_budget=100), tmp_path_factory.mktemp("small")) as here:
        said, _ = refused(here.http, 413, capture={"patch_source": SMALL | {"run": "r"}})
        assert "the budget is 100 bytes" in said
        assert not here.parts.backend.manifests()


def test_many_at_once_get_what_each_gets_alone(http: httpx.Client) -> None:
    capture(http)
    bodies: list[dict[str, Any]] = []
    for i in range(24):
        patch = {"hook": CLASSIC_HOOKS[i % 5], "layer": i % LAYERS, "dest_position": i % POSITIONS}
        source = {"source_run": "clean", "source_position": i % POSITIONS, "alpha": i / 10}
        fields = {"patch": [patch | source]} if i % 3 else {"capture": CAPTURE}
        bodies.append({"prompt": OTHER, "max_tokens": 1 + i % 4, "logprobs": 5} | fields)

    def choices(body: dict[str, Any]) -> Any:
        return ask(http, **body)["choices"]

    alone = [choices(body) for body in bodies]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(choices, bodies)) == alone
