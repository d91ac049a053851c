"""A listener's connection: one write at a time, turns for others, and a clean end."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message

from sonde.runs import hub as hub_module
from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.server.frames import Events
from sonde.server.live import WRITE_BYTES, LiveStream, heartbeat_event, notice_event
from tests.runs.trainer import Trainer

pytestmark = pytest.mark.anyio


@pytest.fixture
def trainer(tmp_path: Path) -> Trainer:
    return Trainer(tmp_path)


@pytest.fixture
async def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Hub]:
    monkeypatch.setattr(hub_module, "WATCH_SECONDS", 0.02)  # leaving is noticed by the clock
    hub = Hub(RunLayout(tmp_path))
    yield hub
    await hub.close()


class Client:
    """The other end: reads when it may, leaves when told."""

    def __init__(self, hub: Hub, **options: Any) -> None:
        self.writes: list[bytes] = []
        self.reads = asyncio.Event()
        self.reads.set()
        self.leaves = asyncio.Event()
        self.ended = False
        begin, anywhere = options.pop("begin", "start"), options.pop("anywhere", False)
        listener = hub.listen(hub.find(None), Events(), begin, anywhere=anywhere)
        stream = LiveStream(listener, {}, notice=notice_event, heartbeat=heartbeat_event, **options)
        self.task = asyncio.create_task(stream({"type": "http"}, self._receive, self._send))

    async def _receive(self) -> Message:
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        await self.reads.wait()
        if message["type"] == "http.response.body":
            self.ended = not message["more_body"]
            if message["body"]:
                self.writes.append(message["body"])

    @property
    def events(self) -> int:
        return sum(write.count(b'"token_index"') for write in self.writes)

    async def has(self, count: int) -> None:
        async with asyncio.timeout(20):
            while self.events < count:
                await asyncio.sleep(0.001)

    async def gone(self) -> None:
        self.leaves.set()
        self.reads.set()
        await asyncio.wait_for(self.task, 10)


async def test_what_is_there_together_goes_out_in_one_write(trainer: Trainer, hub: Hub) -> None:
    trainer.write(100)
    client = Client(hub)
    await client.has(100)
    assert len(client.writes) == 1
    await client.gone()


async def test_a_write_is_bounded_and_others_get_turns_between_writes(
    trainer: Trainer, hub: Hub
) -> None:
    """S13: a replay does not starve the loop."""
    for step in range(1, 11):
        trainer.write(2000)
        trainer.rotate(step)
    turns, client = 0, Client(hub)
    while client.events < 20_000:
        turns += 1
        await asyncio.sleep(0)
    assert turns >= len(client.writes) > 8
    assert max(map(len, client.writes)) < 3 * WRITE_BYTES
    await client.gone()


async def test_nothing_piles_up_for_one_who_does_not_read(trainer: Trainer, hub: Hub) -> None:
    """S11: at most one write waits, however much is written, and nothing is lost."""
    trainer.write(1)
    stalled, healthy = Client(hub), Client(hub)
    await stalled.has(1)
    stalled.reads.clear()
    for step in range(1, 11):
        trainer.write(300)
        await healthy.has(trainer.written)
        trainer.rotate(step)
    assert stalled.events == 1
    assert stalled.task.get_stack(limit=1)
    stalled.reads.set()
    await stalled.has(trainer.written)
    assert b"".join(stalled.writes).replace(b"\n", b"").count(b"event: source") == 1
    await stalled.gone()
    await healthy.gone()


async def test_a_heartbeat_comes_when_there_is_nothing_else(trainer: Trainer, hub: Hub) -> None:
    trainer.write(1)
    client = Client(hub, heartbeat_seconds=0.02)
    await client.has(1)
    async with asyncio.timeout(10):
        while sum(b"heartbeat" in write for write in client.writes) < 3:
            await asyncio.sleep(0.001)
    beats = [write for write in client.writes if b"heartbeat" in write]
    assert beats[-1].endswith(b"\ndata: {}\n\n")
    assert b"\nid: " in beats[-1]
    await client.gone()


async def test_one_who_leaves_is_forgotten(trainer: Trainer, hub: Hub) -> None:
    trainer.write(1)
    client = Client(hub)
    await client.has(1)
    client.leaves.set()
    await asyncio.wait_for(client.task, 10)
    assert hub.listeners == {}


async def test_without_following_it_ends_at_the_end(trainer: Trainer, hub: Hub) -> None:
    trainer.write(5)
    client = Client(hub, follow=False)
    await asyncio.wait_for(client.task, 10)
    assert (client.events, client.ended) == (5, True)


async def test_when_the_hub_stops_streams_end_whole_and_stalled_ones_are_cut(
    trainer: Trainer, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "LEAVE_SECONDS", 0.05)
    trainer.write(1)
    reading, stalled = Client(hub), Client(hub)
    await reading.has(1)
    await stalled.has(1)
    stalled.reads.clear()
    trainer.write(1)
    await reading.has(2)
    hub.stop()
    await asyncio.wait_for(reading.task, 10)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(stalled.task, 10)
    assert (reading.ended, stalled.ended) == (True, False)
    assert hub.listeners == {}


async def test_a_task_that_is_cancelled_by_others_stays_cancelled(
    trainer: Trainer, hub: Hub
) -> None:
    trainer.write(1)
    client = Client(hub)
    await client.has(1)
    client.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await client.task
    assert hub.listeners == {}


async def test_one_who_is_cut_takes_nobody_along(trainer: Trainer, hub: Hub) -> None:
    trainer.write(1)
    cut, stays = Client(hub), Client(hub)
    await cut.has(1)
    await stays.has(1)
    await asyncio.sleep(0.01)  # both wait for news
    cut.task.cancel()
    await asyncio.gather(cut.task, return_exceptions=True)
    trainer.write(1)
    await stays.has(2)
    await stays.gone()


async def test_one_who_was_taken_to_another_run_goes_on_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sonde.runs.tail.IDLE_SECONDS", 0.01)
    monkeypatch.setattr(hub_module, "WATCH_SECONDS", 0.02)
    hub = Hub(RunLayout(tmp_path))
    client = Client(hub, anywhere=True, begin="active")
    await asyncio.sleep(0.01)
    made = Trainer(tmp_path / "new")
    for count in range(1, 4):
        made.write(1)
        await client.has(count)
    await client.gone()
    await hub.close()


async def test_those_who_catch_up_take_turns(trainer: Trainer, hub: Hub) -> None:
    """S11: a subscriber at the head waits for one block of one of them, not for one of each."""
    trainer.write(10_000)
    trainer.rotate(1)
    crowd = [Client(hub) for _ in range(10)]
    most = 0
    while min(client.events for client in crowd) < 10_000:
        before = sum(len(client.writes) for client in crowd)
        await asyncio.sleep(0)
        most = max(most, sum(len(client.writes) for client in crowd) - before)
        if min(len(client.writes) for client in crowd) == 1:
            most = 0  # what they begin with is not in turns
    assert most <= 2
    for client in crowd:
        await client.gone()
