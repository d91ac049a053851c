"""Sweeps beside each other, and clients that leave: C6, C9, C10, and the heartbeat."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.server.contract.asking import (
    CLEAN,
    CORRUPT,
    PATIENCE,
    SHORT,
    SOURCE,
    SWEEP,
    Body,
    caller,
    refused,
    summary_of,
    sweep_body,
    until,
    without,
)
from tests.server.contract.conftest import Serving
from tests.server.contract.gated import Gate, Gated
from tests.server.tiny_server import Served

WIDE: Body = {"layers": [0, 1, 2, 3], "positions": "all_prompt", "hooks": ["post_block", "mlp_out"]}


@pytest.fixture
def together() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as threads:
        yield threads


def only(served: Served) -> dict[str, Any]:
    """The one sweep of the history."""
    (entry,) = served.http.get(SWEEP).json()["sweeps"]
    return dict(entry)


@pytest.mark.parametrize("held", ["baselines", "capture", 1], ids=str)
@pytest.mark.parametrize(
    ("stream", "heartbeat"),
    [(False, 10.0), (True, 10.0), (True, 0.02)],
    ids=["json", "stream", "begun stream"],
)
def test_c6_when_the_client_leaves_the_sweep_stops_within_one_chunk_and_leaves_nothing(
    serving: Serving, held: str | int, stream: bool, heartbeat: float
) -> None:
    """Before the first event, and after; a begun stream has sent a heartbeat by then."""
    gate, backend = Gate(held), Gated(chunk=8)  # the first has the controls, and some cells
    if isinstance(held, int):
        backend.before_chunk = gate
    else:
        backend.at_method = gate
    served = serving(backend, heartbeat_seconds=heartbeat)
    connection = caller(served.url, sweep_body(**WIDE, stream=stream, keep_source=True))
    gate.wait()
    entry = only(served)
    running = served.parts.sweeps.under_way(entry["id"])
    assert running is not None
    if stream and heartbeat < 1:
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
    connection.close()
    until(lambda: running.job.cancelled, "the server notices")
    scored = len(backend.scored)
    gate.open()
    until(lambda: only(served)["state"] == "cancelled", "the history says so")
    assert len(backend.scored) - scored <= backend.chunk
    assert (backend.runs, backend.leases) == ({}, set())
    assert served.parts.engine.counts()["sweep"] == (0, 0)
    assert "score ended" not in backend.log
    backend.before_chunk = lambda _chunk: None
    assert summary_of(served.http, sweep_body(**WIDE))["auto_captured"]


def test_c9_two_sweeps_that_capture_one_name_at_once_give_what_they_give_alone(
    serving: Serving, together: ThreadPoolExecutor
) -> None:
    backend = Gated()
    served = serving(backend)
    asked = [
        sweep_body(layers=[0, 1, 2, 3], positions=[1, 4, 6], clean_prompt=clean)
        for clean in (CLEAN, SHORT)
    ]
    alone = [summary_of(served.http, body) for body in asked]
    gate = Gate(1)
    backend.before_chunk = gate
    first = together.submit(served.http.post, SWEEP, json=asked[0])
    gate.wait()
    second = together.submit(served.http.post, SWEEP, json=asked[1])
    until(lambda: served.parts.engine.counts()["sweep"] == (1, 1), "both are there")
    gate.open()
    for answer, expected in zip((first, second), alone, strict=True):
        made = answer.result(PATIENCE)
        if made.status_code == 200:
            assert without(made.json()) == without(expected)
        else:
            refused(made, made.status_code, "'clean'")
            assert made.status_code in (400, 409)
    assert first.result().status_code == 200
    assert (backend.runs, backend.leases) == ({}, set())


@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
def test_c10_a_run_dropped_under_a_sweep_ends_it_by_name_and_never_with_unpatched_numbers(
    serving: Serving, together: ThreadPoolExecutor, stream: bool
) -> None:
    backend = Gated()
    served = serving(backend)
    summary_of(served.http, sweep_body(**WIDE, keep_source=True))
    alone = summary_of(served.http, sweep_body(**WIDE, source_run="own"))
    gate = Gate(1)
    backend.before_chunk = gate
    body = sweep_body(**WIDE, clean_prompt=..., prompt=CORRUPT)
    running = together.submit(served.http.post, SWEEP, json=body | {"stream": stream})
    gate.wait()
    waiting = together.submit(served.http.post, SWEEP, json=body)
    beside = together.submit(served.http.post, SWEEP, json=sweep_body(**WIDE, source_run="own"))
    until(lambda: served.parts.engine.counts()["sweep"] == (1, 2), "one runs and two wait")
    assert served.http.delete(f"{SOURCE}/clean").json() == {"dropped": True}
    gate.open()
    answer = running.result(PATIENCE)
    if stream:
        assert answer.status_code == 200
        assert "source dropped" in answer.text
        assert "summary" not in answer.text
        assert "[DONE]" not in answer.text
    else:
        refused(answer, 400, "source dropped")
    refused(waiting.result(PATIENCE), 400, "patch source not found")
    assert without(beside.result(PATIENCE).json()) == without(alone), "it has a run of its own"
    assert (backend.runs, backend.leases) == ({}, set())


def test_a_heartbeat_is_sent_before_the_first_event_and_is_only_a_comment(
    serving: Serving,
) -> None:
    gate, backend = Gate("baselines"), Gated()
    backend.at_method = gate
    served = serving(backend, heartbeat_seconds=0.02)
    seen: list[str] = []
    with served.http.stream("POST", SWEEP, json=sweep_body(stream=True)) as answer:
        for line in answer.iter_lines():
            seen += [line] if line else []
            if len(seen) == 2:
                gate.open()
    heartbeats = [line for line in seen if line.startswith(":")]
    assert seen[:2] == heartbeats[:2]
    assert json.loads(seen[len(heartbeats)].removeprefix("data: "))["type"] == "start"
    assert seen[-1] == "data: [DONE]"


def test_a_sweep_has_an_id_in_its_header_its_start_and_the_history(http: httpx.Client) -> None:
    with http.stream("POST", SWEEP, json=sweep_body(stream=True)) as answer:
        lines = [line.removeprefix("data: ") for line in answer.iter_lines() if line]
    sweep = answer.headers["x-sweep-id"]
    assert json.loads(lines[0])["id"] == sweep
    record = http.get(f"{SWEEP}/{sweep}").json()
    assert record["state"] == "finished"
    last = json.loads(lines[-2])
    assert record["summary"] == {name: last[name] for name in last if name != "type"}
