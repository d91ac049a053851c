"""Sweeps by id: numbered events, many who follow, leaving, cancelling, the history."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonde.errors import (
    BadRequest,
    BaselineFailed,
    JobCancelled,
    ServerBusy,
    SweepUnderWay,
    UnknownHook,
    UnknownSweep,
)
from sonde.schema import Remarks, Summary
from sonde.server.asks import Classic
from sonde.server.sweeps import RunningSweep, Sweeps
from sonde.store.sweep_file import Only
from tests.engine.questions import request, summary_of
from tests.scripted import Scripted
from tests.server.sweeping import sweeps_over

pytestmark = pytest.mark.anyio


@pytest.fixture
def backend() -> Scripted:
    return Scripted()


@pytest.fixture
def sweeps(backend: Scripted, tmp_path: Path) -> Iterator[Sweeps]:
    with sweeps_over(backend, tmp_path) as made:
        yield made


class Held:
    """Keeps a sweep before its second chunk until it is let go."""

    def __init__(self, backend: Scripted) -> None:
        self.there, self.go = threading.Event(), threading.Event()
        backend.before_chunk = self._wait

    def _wait(self, chunk: int) -> None:
        if chunk == 1:
            self.there.set()
            assert self.go.wait(20)


async def heard(running: RunningSweep, after: int = 0) -> list[tuple[int, dict[str, object]]]:
    return [
        (number, json.loads(event))
        async for batch in running.follow(after)
        for number, event in batch
    ]


def without_times(summary: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in summary.items() if key not in ("timing", "type")}


async def test_the_events_are_numbered_and_end_with_what_a_sweep_in_process_gives(
    backend: Scripted, sweeps: Sweeps
) -> None:
    running = await sweeps.start(Classic(request(), {}))
    events = await heard(running)
    assert [number for number, _ in events] == list(range(1, len(events) + 1))
    (_, start), *cells, (_, last) = events
    assert (start["type"], start["id"]) == ("start", running.id)
    assert {event["type"] for _, event in cells} == {"cell"}
    assert len(cells) == start["cells"]
    alone = summary_of(Scripted(), request()).model_dump(mode="json")
    assert without_times(last) == without_times(alone)
    assert backend.runs == {}


async def test_a_subscriber_that_joins_late_or_comes_back_misses_nothing_and_hears_nothing_twice(
    backend: Scripted, sweeps: Sweeps
) -> None:
    held = Held(backend)
    running = await sweeps.start(Classic(request(), {}))
    await asyncio.to_thread(held.there.wait, 20)
    first = asyncio.create_task(heard(running))
    reached = (await anext(running.follow()))[-1][0]
    held.go.set()
    late, back = await heard(running), await heard(running, reached)
    assert late == await first
    assert back == late[reached:]
    after = [e async for batch in sweeps.follow(running.id, reached) for e in batch]
    assert [(number, json.loads(event)) for number, event in after] == back


async def test_it_is_in_the_history_before_its_summary_is_announced(sweeps: Sweeps) -> None:
    running = await sweeps.start(Classic(request(), {}))
    await running.finished()
    record = sweeps.record(running.id)
    assert (record.state, record.done, record.cells) == ("finished", record.cells, running.cells)
    assert record.summary is not None
    assert record.provenance.request["prompt"] == request().prompt
    assert record.provenance.versions == {"sonde": "test"}
    assert [entry.id for entry in sweeps.history(before=None, limit=5).sweeps] == [running.id]
    assert sweeps.ended == {"finished": 1}
    assert sweeps.cells == running.done


async def test_while_it_runs_the_history_says_how_far_it_is(
    backend: Scripted, sweeps: Sweeps
) -> None:
    held = Held(backend)
    running = await sweeps.start(Classic(request(), {}))
    await asyncio.to_thread(held.there.wait, 20)
    await running.began()
    (entry,) = sweeps.history(before=None, limit=5).sweeps
    assert (entry.state, entry.cells) == ("running", running.cells)
    assert sweeps.record(running.id).summary is None
    held.go.set()
    await running.finished()


async def test_one_that_runs_is_named_at_once_and_not_deleted(
    backend: Scripted, sweeps: Sweeps
) -> None:
    held = Held(backend)
    running = await sweeps.start(Classic(request(), {}))
    await asyncio.to_thread(held.there.wait, 20)
    await running.began()
    said = sweeps.remark(running.id, Remarks(name="long", starred=True))
    assert (said.name, said.state, said.cells) == ("long", "running", running.cells)
    (entry,) = sweeps.history(before=None, limit=5, only=Only(starred=True)).sweeps
    assert (entry.name, entry.cells) == ("long", running.cells)
    assert sweeps.record(running.id).starred
    with pytest.raises(SweepUnderWay):
        sweeps.forget(running.id)
    held.go.set()
    await running.finished()
    assert sweeps.record(running.id).name == "long"
    assert sweeps.forget(running.id).state == "finished"
    assert sweeps.history(before=None, limit=5).sweeps == []


async def test_what_is_wrong_with_the_request_alone_leaves_no_trace(
    backend: Scripted, sweeps: Sweeps
) -> None:
    with pytest.raises(UnknownHook):
        await sweeps.start(Classic(request(hook="attn"), {}))
    assert sweeps.history(before=None, limit=5).sweeps == []
    assert backend.log == []


async def test_what_goes_wrong_before_the_first_event_is_raised_and_written_down(
    backend: Scripted, sweeps: Sweeps
) -> None:
    backend.failing["baselines 2"] = BadRequest("broken")
    running = await sweeps.start(Classic(request(), {}))
    with pytest.raises(BaselineFailed, match="broken"):
        await running.began()
    record = sweeps.record(running.id)
    assert (record.state, record.error) == ("failed", "baseline generation failed: broken")


async def test_what_goes_wrong_later_is_the_last_event_and_there_is_no_summary(
    backend: Scripted, sweeps: Sweeps
) -> None:
    def fail(chunk: int) -> None:
        if chunk == 1:
            raise ZeroDivisionError("secret")

    backend.before_chunk = fail
    running = await sweeps.start(Classic(request(), {}))
    await running.began()
    events = [event for _, event in await heard(running)]
    assert events[-1]["type"] == "error"
    assert "ZeroDivisionError" in str(events[-1]["error"])
    assert "secret" not in str(events[-1]["error"]), "a bug's own words stay in the log"
    with pytest.raises(ZeroDivisionError):
        await running.finished()
    assert sweeps.record(running.id).state == "failed"
    assert backend.runs == {}
    assert backend.leases == set()


@pytest.mark.parametrize("guest", [False, True])
async def test_its_sender_leaves_and_it_stops_unless_a_guest_follows(
    backend: Scripted, sweeps: Sweeps, guest: bool
) -> None:
    held = Held(backend)
    running = await sweeps.start(Classic(request(), {}))
    await asyncio.to_thread(held.there.wait, 20)
    following = running.follow(guest=guest)
    await anext(following)
    running.leave()
    held.go.set()
    if guest:
        assert isinstance(await running.finished(), Summary)
    else:
        with pytest.raises(JobCancelled):
            await running.finished()
        assert sweeps.record(running.id).state == "cancelled"
        assert backend.log[-3:] != []
        assert "score ended" not in backend.log
    await following.aclose()
    assert backend.runs == {}
    assert backend.leases == set()


async def test_a_sweep_can_be_cancelled_by_its_id(backend: Scripted, sweeps: Sweeps) -> None:
    held = Held(backend)
    running = await sweeps.start(Classic(request(), {}))
    await asyncio.to_thread(held.there.wait, 20)
    assert sweeps.cancel(running.id) is running
    held.go.set()
    events = [event for _, event in await heard(running)]
    assert events[-1]["type"] == "error"
    assert sweeps.cancel(running.id) is None, "it has ended"
    with pytest.raises(UnknownSweep):
        sweeps.cancel("nobody")
    assert sweeps.ended == {"cancelled": 1}


async def test_an_unknown_sweep_is_an_error(sweeps: Sweeps) -> None:
    with pytest.raises(UnknownSweep):
        sweeps.last_number("nobody")
    with pytest.raises(UnknownSweep):
        sweeps.record("nobody")


async def test_a_history_that_cannot_be_written_costs_no_one_their_result(
    backend: Scripted, sweeps: Sweeps, caplog: pytest.LogCaptureFixture
) -> None:
    held = Held(backend)
    running = await sweeps.start(Classic(request(), {}))
    await asyncio.to_thread(held.there.wait, 20)
    sweeps.close()
    held.go.set()
    assert isinstance(await running.finished(), Summary)
    assert f"sweep {running.id} could not be written down" in caplog.text


async def test_an_estimate_runs_no_sweep(backend: Scripted, sweeps: Sweeps) -> None:
    cost = await sweeps.estimate(Classic(request(), {}))
    assert cost.cells > 0
    assert "score" not in backend.log
    assert sweeps.history(before=None, limit=5).sweeps == []


async def test_a_flood_is_refused_before_it_costs_anything(
    backend: Scripted, sweeps: Sweeps
) -> None:
    sweeps._engine._most_waiting = 0
    with pytest.raises(ServerBusy):
        await sweeps.start(Classic(request(), {}))
    assert sweeps.history(before=None, limit=5).sweeps == []


async def test_a_sweep_that_a_stopping_server_cuts_short_is_interrupted(
    backend: Scripted, sweeps: Sweeps
) -> None:
    held = Held(backend)
    running = await sweeps.start(Classic(request(), {}))
    await asyncio.to_thread(held.there.wait, 20)
    stopping = asyncio.create_task(asyncio.to_thread(sweeps._engine.stop, 0))
    await asyncio.sleep(0.05)
    held.go.set()
    await stopping
    record = sweeps.record(running.id)
    assert record.state == "interrupted"
    assert "shutting down" in str(record.error)
    assert backend.runs == {}
