"""Sweeps that go wrong: bad numbers, grids beyond reason, failures on the way, clients that leave.

Each keeps its trouble to itself: the store, the other sweeps and the next one do not notice.
"""

import json
import math
import tracemalloc
from typing import Any

import httpx
import pytest

from sonde.errors import BadRequest
from tests.scripted import Scripted
from tests.server.contract.asking import (
    CLEAN,
    CORRUPT,
    SHORT,
    SOURCE,
    SWEEP,
    Body,
    broken_events_of,
    events_of,
    refused,
    runs,
    strict,
    summary_of,
    sweep_body,
    vector_body,
    without,
)
from tests.server.contract.conftest import LAYERS, WIDTH, Making, Serving
from tests.server.tiny_server import Served

JSON = {"Content-Type": "application/json"}


def raw(http: httpx.Client, field: str, literal: str, **fields: Any) -> httpx.Response:
    """A sweep with a value that Python would not write as JSON."""
    body = json.dumps(sweep_body(**fields) | {field: "HERE"}).replace('"HERE"', literal)
    return http.post(SWEEP, content=body, headers=JSON)


BAD_SITES: list[tuple[Body, str, bool]] = [
    ({"hook": "attn"}, "valid hooks", True),
    ({"hooks": ["mlp_out", "attn"]}, "valid hooks", True),
    ({"layers": [-1]}, "[0, 4)", True),
    ({"layers": [4]}, "[0, 4)", True),
    ({"layers": [True]}, "layers", False),
    ({"layers": [2.5]}, "layers", False),
    ({"layers": {"start": 0, "stop": 4, "step": 0}}, "layers", False),
    ({"layers": {"start": -1, "stop": 2}}, "[0, 4)", True),
]


def test_c1_a_bad_hook_or_layer_is_refused_and_the_engine_untouched(
    scripted: tuple[Scripted, Served],
) -> None:
    backend, served = scripted
    for fields, says, plain in BAD_SITES:
        for stream in (False, True):
            answer = served.http.post(SWEEP, json=sweep_body(**fields, stream=stream))
            refused(answer, 400, says, plain=plain)
    assert backend.log == []


def test_c1_a_hook_that_the_model_lacks_is_refused_with_those_it_has(serving: Serving) -> None:
    served = serving(Scripted(hooks=("pre_attn", "post_block")))
    answer = served.http.post(SWEEP, json=sweep_body(hook="mlp_out"))
    refused(answer, 400, "valid hooks: ['post_block', 'pre_attn']")


@pytest.mark.parametrize("make", [sweep_body, vector_body])
@pytest.mark.parametrize("position", [-1, 9, 10**9, -(10**9)])
def test_c2_a_position_outside_the_prompt_is_refused_with_its_length(
    http: httpx.Client, make: Any, position: int
) -> None:
    for places in ([position], [0, position], [position, {"span": "Tower"}]):
        refused(http.post(SWEEP, json=make(positions=places)), 400, "9 tokens")
    assert runs(http) == []


def test_c2_duplicate_positions_are_computed_not_skipped(http: httpx.Client) -> None:
    twice = summary_of(http, vector_body(positions=[8, 2, 8]))
    assert twice["positions"] == [8, 2, 8]
    assert all(row[0] == row[2] != twice["corrupt"] for row in twice["grid"])
    assert len(events_of(http, vector_body(positions=[8, 2, 8]))) == 1 + 6 + 1


@pytest.mark.parametrize(
    "literal", ["NaN", "Infinity", "-Infinity", "1e999", '"inf"', '"NaN"', "null"]
)
@pytest.mark.parametrize("field", ["alpha", "clean_baseline"])
def test_c3_a_number_that_is_none_is_refused_and_nothing_captured(
    http: httpx.Client, field: str, literal: str
) -> None:
    answer = raw(http, field, literal)
    if (field, literal) == ("clean_baseline", "null"):
        assert answer.status_code == 200, "it is what the reference's client sends"
    else:
        refused(answer, 400, "", plain=False)
    assert runs(http) == []


BEYOND: dict[str, Body] = {
    "a range in sixty bytes": {"layers": {"start": 0, "stop": 10**12}},
    "a range with a step": {"layers": {"start": 0, "stop": 10**18, "step": 10**6}},
    "a million layers": {"layers": [0] * 10**6},
    "too many positions": {"positions": [1] * 100_001},
    "layers times positions": {"layers": [0] * 9_000, "positions": [1] * 200},
    "all of it": {"layers": [0] * 9_000, "positions": [1] * 90_000},
}


@pytest.mark.parametrize("case", BEYOND)
def test_c4_a_grid_beyond_reason_is_refused_by_arithmetic(http: httpx.Client, case: str) -> None:
    body = json.dumps(sweep_body(**BEYOND[case], hooks=["post_block", "mlp_out"]))
    tracemalloc.start()
    try:
        answer = http.post(SWEEP, content=body, headers=JSON)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert answer.status_code in (400, 413), answer.text[:200]
    assert peak < 2 * 2**20 + 60 * len(body), "no more than the body itself takes"
    assert runs(http) == []


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "fields",
    [
        {"clean_prompt": ...},
        {"prompt": SHORT, "positions": [{"span": "Colosseum"}]},
        {"prompt": SHORT, "source_positions": [0]},
        {"source_positions": [0, 1, 99]},
    ],
)
def test_c5_what_a_refused_sweep_captured_is_gone(
    http: httpx.Client, fields: Body, stream: bool
) -> None:
    answer = http.post(SWEEP, json=sweep_body(**fields, keep_source=True, stream=stream))
    assert answer.status_code == 400, answer.text
    assert runs(http) == []


def test_c5_a_run_without_the_layers_is_refused_and_stays(http: httpx.Client) -> None:
    summary_of(http, sweep_body(layers=[1], keep_source=True))
    for fields in ({"clean_prompt": ...}, {}):
        refused(http.post(SWEEP, json=sweep_body(**fields)), 400, "patch source not found")
    assert runs(http) == ["clean"]
    http.delete(f"{SOURCE}/clean")


class Breaks:
    """Fails in one chunk, once."""

    def __init__(self, error: Exception, at: int = 2) -> None:
        self.error: Exception | None = error
        self.at = at

    def __call__(self, chunk: int) -> None:
        if chunk == self.at and self.error is not None:
            error, self.error = self.error, None
            raise error


WIDE: Body = {"layers": [0, 1, 2, 3], "positions": "all_prompt", "hooks": ["post_block", "mlp_out"]}


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (MemoryError("no room for the chunk"), 500, "out of memory"),
        (RuntimeError("a secret of the server"), 500, "RuntimeError"),
        (BadRequest("this cell cannot be"), 400, "this cell cannot be"),
    ],
)
def test_c7_and_row_24_a_chunk_that_fails_ends_its_sweep_with_an_error_and_no_other(
    scripted: tuple[Scripted, Served], error: Exception, status: int, says: str
) -> None:
    backend, served = scripted
    whole = summary_of(served.http, sweep_body(**WIDE))
    backend.before_chunk = Breaks(error)
    answer = served.http.post(SWEEP, json=sweep_body(**WIDE))
    assert answer.status_code == status
    message = str(strict(answer.text)["error"])
    assert "secret" not in message
    assert says in message or isinstance(error, RuntimeError), "a bug is in the log only"
    backend.before_chunk = Breaks(error)
    start, *cells, last = broken_events_of(served.http, sweep_body(**WIDE))
    assert start["type"] == "start"
    assert {cell["type"] for cell in cells} == {"cell"}
    assert last["type"] == "error"
    assert says in last["error"]
    assert "secret" not in last["error"]
    assert (backend.runs, backend.leases) == ({}, set())
    assert without(summary_of(served.http, sweep_body(**WIDE))) == without(whole)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_c15_a_value_that_is_not_finite_is_null_with_a_reason_and_never_the_argmax(
    scripted: tuple[Scripted, Served], value: float
) -> None:
    backend, served = scripted
    backend.forced[("post_block", 2, 3)] = [value]
    made = summary_of(served.http, sweep_body())
    assert made["grid"][1][1] is None
    assert sum(v is None for row in made["grid"] for v in row) == 1
    (skipped,) = made["skipped"]
    assert {**skipped, "reason": ""} == {
        "hook": "post_block", "layer": 2, "position": 3, "reason": "",
    }  # fmt: skip
    assert skipped["reason"]
    assert (made["argmax"]["layer"], made["argmax"]["position"]) != (2, 3)
    void = [e for e in events_of(served.http, sweep_body()) if e.get("value", 0) is None]
    assert [(e["layer"], e["position"], bool(e["error"])) for e in void] == [(2, 3, True)]


def test_c12_a_run_larger_than_the_budget_is_refused_before_it_is_captured(
    serving: Serving, making: Making
) -> None:
    served = serving(making(source_budget=8_000))
    small: Body = {
        "prompt": CLEAN, "max_tokens": 1,
        "capture": {"patch_source": {"run": "small", "hooks": {"post_block": [0]}}},
        "capture_wait": True,
    }  # fmt: skip
    assert served.http.post("/v1/completions", json=small).status_code == 200
    assert runs(served.http) == ["small"]
    for stream in (False, True):
        answer = served.http.post(SWEEP, json=sweep_body(layers=[0, 1, 2, 3], stream=stream))
        message = refused(answer, 413, "8,000 bytes")
        assert f"{5 * LAYERS * 9 * WIDTH * 4:,} bytes" in message
        assert "source_budget" in message
    assert runs(served.http) == ["small"], "nobody was evicted for it"


def test_the_prompt_of_a_sweep_is_not_looked_for_in_the_clean_one(http: httpx.Client) -> None:
    """Spans are about `prompt`: a word that only the clean prompt has is not found."""
    body = sweep_body(positions=[{"span": "Eiffel"}])
    refused(http.post(SWEEP, json=body), 400, "not found")
    assert summary_of(http, sweep_body(positions=[{"span": "Rome"}]))["positions"] == [2]
    assert CORRUPT != CLEAN
