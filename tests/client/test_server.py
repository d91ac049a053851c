"""What only Sonde's server offers, over a real connection."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sonde.client import PatchStudy, Refused, Server
from sonde.engine.tables import sweep_table
from sonde.schema import Cell, PatchSweepRequest, Start, Summary, SweepEvent
from sonde.schema.table import SweepRequest, TableEvent, TableSummary
from sonde.server.parts import Parts
from sonde.server.serving import assemble, running_server
from tests.client.canned import Canned, said, sse
from tests.client.conftest import CLEAN, CORRUPT
from tests.scripted import Scripted

REQUEST = PatchSweepRequest(
    prompt=CORRUPT,
    clean_prompt=CLEAN,
    source_run="served",
    layers=[0, 2],
    hooks=["post_block", "mlp_in"],
    answer_token=" Paris",
    foil_token=" Rome",
    metric="recovered",
    metrics=["logit_diff"],
    pairing="mean",
)


@pytest.fixture
def server(url: str) -> Server:
    return Server(f"{url}/v1")


def test_a_server_says_what_it_can_do(server: Server) -> None:
    able = asyncio.run(server.capabilities())
    assert (able.model.name, able.model.n_layers) == ("tiny", 4)
    assert "sonde" in able.versions


def test_any_request_runs_there_as_it_would_here(server: Server) -> None:
    events: list[SweepEvent | TableEvent] = []
    quiet = asyncio.run(server.run(REQUEST))
    heard = asyncio.run(server.run(REQUEST, on_event=events.append))
    assert heard.grids.keys() == {"post_block", "mlp_in"}
    assert heard.table.tables == quiet.table.tables
    assert heard.summary is not None
    assert (heard.provenance.model, heard.provenance.asked("clean_prompt")) == ("tiny", CLEAN)
    assert heard.provenance.request["pairing"] == "mean"
    assert isinstance(events[0], Start)
    assert isinstance(events[-1], Summary)
    assert sum(isinstance(event, Cell) for event in events) == events[0].cells == 28


def test_a_text_is_turned_into_the_models_tokens(server: Server) -> None:
    assert len(asyncio.run(server.tokens(" Paris"))) == 1


def test_a_general_request_goes_to_its_own_route(canned: Canned, server: Server) -> None:
    able = asyncio.run(server.capabilities()).model_dump(mode="json")
    asked = SweepRequest(corrupt="The Colosseum", clean="The Tower", answer=" Paris")
    events = list(sweep_table(Scripted(), asked))
    last = events[-1]
    assert isinstance(last, TableSummary)
    frames = [event.model_dump(mode="json") for event in events]
    canned.answers["/v1/capabilities"] = lambda _: said(able)
    canned.answers["/v1/sweeps"] = [said(frames[-1]), sse(*frames, {"type": "newer"})]
    there = Server(f"{canned.url}/v1")
    heard: list[SweepEvent | TableEvent] = []
    quiet = asyncio.run(there.run(asked))
    streamed = asyncio.run(there.run(asked, on_event=heard.append))
    assert heard == events
    assert quiet.table == streamed.table
    assert quiet.table.tables == last.tables
    assert [body["stream"] for body in canned.bodies("/v1/sweeps")] == [False, True]
    assert streamed.provenance.request["corrupt"] == "The Colosseum"


def test_an_estimate_runs_nothing(server: Server) -> None:
    before = len(asyncio.run(server.history()).sweeps)
    assert asyncio.run(server.estimate(REQUEST)).cells == 28
    assert len(asyncio.run(server.history()).sweeps) == before


def test_a_sweep_left_with_the_server_can_be_followed_and_asked_for(server: Server) -> None:
    async def work() -> list[SweepEvent]:
        await server.run(REQUEST)  # or there would be none that is older
        entry = await server.start(REQUEST)
        events = [event async for event in server.events(entry.id)]
        assert [event async for event in server.events(entry.id, after="3")] == events[3:]
        assert [event async for event in server.events(entry.id, after=str(len(events)))] == []
        record = await server.record(entry.id)
        assert (record.state, record.done) == ("finished", 28)
        assert record.summary is not None
        again = (await server.run(REQUEST)).summary
        assert again is not None
        assert record.summary.grid == again.grid
        page = await server.history(limit=2)
        assert page.sweeps[1].id == entry.id
        older = await server.history(before=page.next, limit=1)
        assert older.sweeps[0].id not in {each.id for each in page.sweeps}
        done = await server.cancel(entry.id)
        assert (done.cancelled, done.state) == (False, "finished")
        return events

    events = asyncio.run(work())
    assert isinstance(events[-1], Summary)
    assert len(events) == 30


def test_a_sweep_is_named_found_by_that_and_deleted(server: Server) -> None:
    async def work() -> None:
        entry = await server.start(REQUEST)
        assert [event async for event in server.events(entry.id)] != []
        said = await server.remark(entry.id, name="the odd one", note="why?", starred=True)
        assert (said.name, said.note, said.starred) == ("the odd one", "why?", True)
        assert not (await server.remark(entry.id, starred=False)).starred
        assert (await server.history(starred=True)).sweeps == []
        found = await server.history(search="ODD one")
        assert [(each.id, each.note) for each in found.sweeps] == [(entry.id, "why?")]
        assert (await server.record(entry.id)).name == "the odd one"
        assert (await server.forget(entry.id)).id == entry.id
        assert (await server.history(search="odd one")).sweeps == []

    asyncio.run(work())


def test_runs_are_listed(server: Server, url: str) -> None:
    kept = REQUEST.model_copy(update={"keep_source": True, "source_run": "kept"})
    asyncio.run(server.run(kept))
    listing = asyncio.run(server.runs())
    assert "kept" in {run.run for run in listing.runs}
    assert "served" not in {run.run for run in listing.runs}
    PatchStudy(model="tiny", base_url=f"{url}/v1").drop_run("kept")


def test_a_name_that_nobody_knows_is_refused(server: Server) -> None:
    with pytest.raises(Refused, match=r"404 .*no sweep 'absent'"):
        asyncio.run(server.record("absent"))


@dataclass(frozen=True)
class Held:
    """A server whose sweeps wait before each chunk until they are let go on."""

    server: Server
    parts: Parts
    backend: Scripted
    go_on: threading.Event

    async def asked_to_stop(self) -> str:
        """Wait until the server has noticed, let the sweep go on, and say how it ended."""
        async with asyncio.timeout(30):
            sweep = (await self.server.history()).sweeps[0].id
            running = self.parts.sweeps.under_way(sweep)
            assert running is not None
            while not running.job.cancelled:
                await asyncio.sleep(0.01)
            self.go_on.set()
            while not running.over:
                await asyncio.sleep(0.01)
        return running.state


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Held]:
    go_on = threading.Event()
    backend = Scripted(before_chunk=lambda _: _wait(go_on))
    parts = assemble(backend, tmp_path)
    with running_server(parts) as url:
        yield Held(Server(f"{url}/v1"), parts, backend, go_on)
        go_on.set()


def _wait(go_on: threading.Event) -> None:
    assert go_on.wait(30)


SCRIPTED = PatchSweepRequest(
    prompt=CORRUPT, clean_prompt=CORRUPT, source_run="s", layers=[0, 1, 2], answer_token=" Paris"
)


def test_a_call_that_is_cancelled_hangs_up_and_the_server_stops_the_sweep(held: Held) -> None:
    async def work() -> None:
        begun = asyncio.Event()
        running = asyncio.create_task(held.server.run(SCRIPTED, on_event=lambda _: begun.set()))
        await begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await held.asked_to_stop() == "cancelled"

    asyncio.run(work())
    assert "score ended" not in held.backend.log
    assert held.backend.runs == {}


def test_a_sweep_under_way_can_be_cancelled_by_its_id(held: Held) -> None:
    async def work() -> list[SweepEvent]:
        entry = await held.server.start(SCRIPTED)
        heard: list[SweepEvent] = []
        async for event in held.server.events(entry.id):
            heard.append(event)
            if len(heard) == 1:
                stopping = asyncio.create_task(held.server.cancel(entry.id))
                assert await held.asked_to_stop() == "cancelled"
                assert (await stopping).cancelled
        return heard

    assert asyncio.run(work())[-1].type == "error"
