"""Sweeps by their id, over HTTP: started, followed, come back to, cancelled, exported."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import duckdb
import httpx
import pytest

from sonde.results import Sweep
from sonde.schema import SweepRecord
from sonde.server.app import create_app
from sonde.server.parts import Parts
from tests.scripted import Scripted
from tests.server.talking import SWEEP, client_of, parts_over

pytestmark = pytest.mark.anyio

URL = "/v1/patch_sweep"


@pytest.fixture
def backend() -> Scripted:
    return Scripted()


@pytest.fixture
def parts(backend: Scripted, tmp_path: Path) -> Iterator[Parts]:
    with parts_over(backend, tmp_path) as made:
        yield made


@pytest.fixture
async def http(parts: Parts) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(create_app(parts)) as client:
        yield client


async def finished(http: httpx.AsyncClient, **more: Any) -> str:
    """A sweep that has ended. -> its id."""
    answer = await http.post(URL, json=SWEEP | more)
    assert answer.status_code == 200, answer.text
    return answer.headers["X-Sweep-Id"]


def events_of(text: str) -> list[tuple[int, Any]]:
    """(id, event) of each frame, but not the end mark."""
    frames = [frame.split("\n") for frame in text.split("\n\n") if frame.startswith("id: ")]
    return [(int(i.removeprefix("id: ")), json.loads(d.removeprefix("data: "))) for i, d in frames]


async def test_a_client_that_does_not_want_to_wait_gets_the_entry_and_follows_the_events(
    http: httpx.AsyncClient,
) -> None:
    answer = await http.post(URL, json=SWEEP, headers={"Prefer": "respond-async"})
    assert answer.status_code == 202
    entry = answer.json()
    assert answer.headers["Location"] == f"{URL}/{entry['id']}"
    assert entry["state"] in ("waiting", "running")

    followed = await http.get(f"{URL}/{entry['id']}/events")
    assert followed.headers["content-type"].startswith("text/event-stream")
    events = events_of(followed.text)
    assert [number for number, _ in events] == list(range(1, len(events) + 1))
    assert events[0][1]["id"] == entry["id"]
    assert events[-1][1]["type"] == "summary"
    assert followed.text.endswith("data: [DONE]\n\n")

    record = (await http.get(f"{URL}/{entry['id']}")).json()
    assert record["state"] == "finished"
    assert {"type": "summary"} | record["summary"] == events[-1][1]


async def test_a_client_that_comes_back_hears_what_came_after_its_last_event(
    http: httpx.AsyncClient,
) -> None:
    sweep = await finished(http)
    everything = events_of((await http.get(f"{URL}/{sweep}/events")).text)
    for last in (1, 3, len(everything) - 1):
        headers = {"Last-Event-ID": str(last)}
        rest = events_of((await http.get(f"{URL}/{sweep}/events", headers=headers)).text)
        assert rest == everything[last:]


async def test_a_client_that_has_heard_all_is_told_not_to_ask(http: httpx.AsyncClient) -> None:
    sweep = await finished(http)
    count = len(events_of((await http.get(f"{URL}/{sweep}/events")).text))
    answer = await http.get(f"{URL}/{sweep}/events", headers={"Last-Event-ID": str(count)})
    assert (answer.status_code, answer.text) == (204, "")


@pytest.mark.parametrize("last", ["-1", "abc", "1.5", "٣", "9" * 13])
async def test_an_event_id_that_is_none_is_refused(http: httpx.AsyncClient, last: str) -> None:
    sweep = await finished(http)
    headers = {b"Last-Event-ID": last.encode()}
    answer = await http.get(f"{URL}/{sweep}/events", headers=headers)
    assert answer.status_code == 400
    assert "is not the number of an event" in answer.json()["error"]


async def test_the_history_is_paged_newest_first(http: httpx.AsyncClient) -> None:
    made = [await finished(http) for _ in range(5)]
    first = (await http.get(URL, params={"limit": 3})).json()
    rest = (await http.get(URL, params={"limit": 3, "before": first["next"]})).json()
    assert [entry["id"] for entry in first["sweeps"] + rest["sweeps"]] == made[::-1]
    assert rest["next"] is None
    assert first["sweeps"][0]["provenance"]["request"]["prompt"] == SWEEP["prompt"]
    assert (await http.get(URL, params={"limit": 0})).status_code == 400


async def test_a_sweep_under_way_is_cancelled_and_says_so(
    backend: Scripted, http: httpx.AsyncClient
) -> None:
    there, go = threading.Event(), threading.Event()

    def hold(chunk: int) -> None:
        if chunk == 1:
            there.set()
            assert go.wait(20)

    backend.before_chunk = hold
    waiting = asyncio.create_task(http.post(URL, json=SWEEP))
    await asyncio.to_thread(there.wait, 20)
    (entry,) = (await http.get(URL)).json()["sweeps"]
    assert entry["state"] == "running"
    cancelling = asyncio.create_task(http.delete(f"{URL}/{entry['id']}"))
    await asyncio.sleep(0.05)
    go.set()
    assert (await cancelling).json() == {"cancelled": True, "state": "cancelled"}
    answer = await waiting
    assert answer.status_code == 409
    assert "cancelled" in answer.json()["error"]
    again = await http.delete(f"{URL}/{entry['id']}")
    assert again.json() == {"cancelled": False, "state": "cancelled"}
    assert "score ended" not in backend.log
    assert (backend.runs, backend.leases) == ({}, set())


@pytest.mark.parametrize("sweep", ["nobody", "0" * 32])
@pytest.mark.parametrize("place", ["", "/events", "/export"])
async def test_an_unknown_sweep_is_not_found(
    http: httpx.AsyncClient, sweep: str, place: str
) -> None:
    answer = await http.get(f"{URL}/{sweep}{place}")
    assert answer.status_code == 404
    assert f"no sweep '{sweep}'" in answer.json()["error"]
    assert (await http.delete(f"{URL}/{sweep}")).status_code == 404


@pytest.mark.parametrize("sweep", ["..%2f..%2fetc%2fpasswd", "a.b", "x" * 65, "%00"])
async def test_an_id_that_is_none_touches_nothing(http: httpx.AsyncClient, sweep: str) -> None:
    assert (await http.get(f"{URL}/{sweep}")).status_code in (400, 404)


@pytest.mark.parametrize(
    ("format", "begins"),
    [
        ("json", b"{"),
        ("csv", b'"hook","layer"'),
        ("parquet", b"PAR1"),
        ("png", b"\x89PNG"),
        ("svg", b"<?xml"),
        ("html", b"<!doctype html>"),
    ],
)
async def test_a_finished_sweep_is_exported(
    http: httpx.AsyncClient, format: str, begins: bytes
) -> None:
    sweep = await finished(http)
    answer = await http.get(f"{URL}/{sweep}/export", params={"format": format})
    assert answer.status_code == 200
    assert answer.content[: len(begins)].lower() == begins.lower()
    assert f'filename="sweep-{sweep}.{format}"' in answer.headers["content-disposition"]


async def test_what_is_exported_is_what_was_measured(
    http: httpx.AsyncClient, tmp_path: Path
) -> None:
    sweep = await finished(http, hooks=["post_block", "mlp_out"])
    record = SweepRecord.model_validate((await http.get(f"{URL}/{sweep}")).json())
    text = (await http.get(f"{URL}/{sweep}/export")).text
    assert Sweep.from_json(text).summary == record.summary

    file = tmp_path / "sweep.parquet"
    file.write_bytes((await http.get(f"{URL}/{sweep}/export?format=parquet")).content)
    assert record.summary is not None
    counted = duckdb.execute(f"SELECT count(*) FROM '{file}'").fetchall()
    assert counted == [(record.cells,)]


async def test_a_sweep_without_a_result_has_nothing_to_export(
    backend: Scripted, http: httpx.AsyncClient
) -> None:
    backend.failing["score"] = RuntimeError("broken")
    assert (await http.post(URL, json=SWEEP)).status_code == 500
    (entry,) = (await http.get(URL)).json()["sweeps"]
    answer = await http.get(f"{URL}/{entry['id']}/export")
    assert answer.status_code == 409
    assert "is failed: it has no result" in answer.json()["error"]


async def test_an_estimate_costs_nothing_and_leaves_nothing(
    backend: Scripted, http: httpx.AsyncClient
) -> None:
    answer = await http.post(f"{URL}/estimate", json=SWEEP)
    assert answer.status_code == 200
    assert answer.json()["cells"] == 2 * 8
    assert "score" not in backend.log
    assert (await http.get(URL)).json()["sweeps"] == []
