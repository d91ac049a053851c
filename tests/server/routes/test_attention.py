"""`/v1/attention` over real HTTP, and hooks of heads at the two routes of sweeps."""

import asyncio
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.client import Server
from sonde.request import attention_request
from sonde.schema.attention import AttentionRequest
from sonde.server.routes import attention
from tests.server.contract.asking import strict
from tests.server.tiny_server import LAYERS, OTHER, PROMPT, Served, chatting_backend, served

URL = "/v1/attention"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(chatting_backend(), tmp_path_factory.mktemp("served")) as running:
        yield running


def refused(server: Served, url: str, body: dict[str, Any]) -> tuple[int, str]:
    answer = server.http.post(url, json=body)
    error = answer.json()["error"]
    said: str = error if isinstance(error, str) else error["message"]
    return answer.status_code, said


def test_patterns_come_flat_and_read_back_as_the_very_floats(server: Served) -> None:
    answer = server.http.post(URL, json={"prompt": PROMPT, "layers": [2], "heads": [1, 3]})
    assert answer.status_code == 200, answer.text
    told = strict(answer.text)
    n = len(told["tokens"])
    found = np.array(told["patterns"], dtype=np.float32).reshape(1, 2, n, n)
    own = sonde.Model(server.parts.backend).attention(PROMPT, layers=[2], heads=[1, 3])
    assert np.array_equal(found, own)
    assert told["scores"] is None
    assert server.parts.backend.manifests() == {}


def test_scores_are_null_where_the_prompt_has_no_such_keys(server: Served) -> None:
    told = strict(server.http.post(URL, json={"prompt": PROMPT, "scores": True}).text)
    assert told["patterns"] is None
    assert len(told["scores"]["previous"]) == LAYERS * 4
    assert set(told["scores"]["duplicate"]) == {None}


def test_the_client_asks_as_the_model_here_does(server: Served) -> None:
    client, here = Server(f"{server.url}/v1"), sonde.Model(server.parts.backend)
    requests: list[AttentionRequest] = [
        attention_request(PROMPT, layers=[0], heads=2),
        attention_request(None, repeated=5, seed=2, scores=True),
    ]
    for request in requests:
        there = asyncio.run(client.attend(request))
        assert there.table() == here.attend(request).table()
        assert there.provenance.request == here.attend(request).provenance.request


def test_what_cannot_be_answered_is_refused_with_a_status(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    for body, status, why in (
        ({"prompt": PROMPT, "heads": [4]}, 400, "head 4 is out of range [0, 4) at pattern"),
        ({"prompt": PROMPT, "layers": [9]}, 400, "layer 9"),
        ({}, 400, "exactly one of prompt and repeated"),
        ({"prompt": PROMPT, "model": "other"}, 404, "other"),
    ):
        code, said = refused(server, URL, body)
        assert (code, why in said) == (status, True), said
    monkeypatch.setattr(attention, "MOST_NUMBERS", 100)
    code, said = refused(server, URL, {"prompt": PROMPT})
    assert code == 413
    assert "name fewer layers or heads, or ask for scores" in said


def test_general_sweeps_have_heads_and_classic_ones_go_on_listing_their_own_hooks(
    server: Served,
) -> None:
    body: dict[str, Any] = {
        "corrupt": OTHER, "clean": PROMPT, "answer": " Paris", "hooks": ["z", "k"], "heads": [1],
    }  # fmt: skip
    answer = server.http.post("/v1/sweeps", json=body)
    assert answer.status_code == 200, answer.text
    axes = [[axis["name"] for axis in table["axes"]] for table in answer.json()["tables"]]
    assert axes == [["layer", "head"]] * 2
    sweep = answer.headers["X-Sweep-Id"]
    for kind in ("png", "svg", "html", "csv", "json", "parquet"):
        file = server.http.get(f"/v1/sweeps/{sweep}/export?format={kind}")
        assert file.status_code == 200, file.text
    code, said = refused(server, "/v1/sweeps", body | {"heads": [2]})
    assert (code, "head 2 is out of range [0, 2) at k" in said) == (400, True)
    classic = {
        "prompt": OTHER, "clean_prompt": PROMPT, "source_run": "r", "answer_token": " Paris",
        "hook": "z", "layers": [0], "positions": "all_prompt",
    }  # fmt: skip
    code, said = refused(server, "/v1/patch_sweep", classic)
    assert code == 400
    assert "valid hooks: ['mlp_in', 'mlp_out', 'post_attn', 'post_block', 'pre_attn']" in said
