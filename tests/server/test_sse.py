"""Frames, heartbeats, and what happens when a client leaves."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from sonde.server import sse
from sonde.server.sse import DONE, HEARTBEAT, event_stream, frame

pytestmark = pytest.mark.anyio

SCOPE: dict[str, Any] = {"type": "http", "method": "GET", "headers": []}


class Client:
    """The other end of a response, as a server sees it."""

    def __init__(self, *, leaves_after: int | None = None) -> None:
        self.sent: list[dict[str, Any]] = []
        self.gone = asyncio.Event()
        self._leaves_after = leaves_after

    async def receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)
        if self._leaves_after is not None and len(self.blocks) >= self._leaves_after:
            self.gone.set()

    @property
    def blocks(self) -> list[bytes]:
        """What was written, piece by piece."""
        bodies = (message.get("body", b"") for message in self.sent)
        return [body for body in bodies if body]

    @property
    def finished(self) -> bool:
        return self.sent[-1].get("more_body") is False


async def respond(client: Client, source: AsyncIterator[bytes], **options: Any) -> None:
    async with asyncio.timeout(10):
        await event_stream(source, **options)(SCOPE, client.receive, client.send)


async def pieces(*given: bytes) -> AsyncIterator[bytes]:
    for piece in given:
        yield piece


def test_a_frame_is_one_data_line_and_a_blank_line() -> None:
    assert frame(b'{"a":1}') == b'data: {"a":1}\n\n'
    assert frame(b"{}", "7") == b"id: 7\ndata: {}\n\n"


def test_characters_that_some_clients_take_for_line_ends_are_escaped() -> None:
    text = "a\x85b\u2028c\u2029d é"
    sent = frame(json.dumps(text, ensure_ascii=False).encode()).decode()
    assert sent.splitlines() == [sent.strip(), ""]
    assert json.loads(sent.removeprefix("data: ")) == text


async def test_the_headers_forbid_caching_compressing_and_collecting() -> None:
    client = Client()
    await respond(client, pieces(), headers={"X-Sweep-Id": "s"})
    headers = {name.decode(): value.decode() for name, value in client.sent[0]["headers"]}
    assert client.sent[0]["status"] == 200
    assert headers == {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-store, no-transform",
        "x-accel-buffering": "no",
        "x-sweep-id": "s",
    }


async def test_frames_that_are_ready_together_go_out_in_one_write() -> None:
    client = Client()
    await respond(client, pieces(frame(b"1"), frame(b"2"), DONE))
    assert client.blocks == [frame(b"1") + frame(b"2") + DONE]
    assert client.finished


async def test_a_frame_does_not_wait_for_the_next_one() -> None:
    client = Client()
    more = asyncio.Event()

    async def source() -> AsyncIterator[bytes]:
        yield frame(b"1")
        await more.wait()
        yield frame(b"2")

    answering = asyncio.create_task(respond(client, source()))
    while not client.blocks:
        await asyncio.sleep(0.001)
    assert client.blocks == [frame(b"1")]
    more.set()
    await answering
    assert client.blocks == [frame(b"1"), frame(b"2")]


async def test_a_heartbeat_comes_before_the_first_frame_and_between_frames() -> None:
    client = Client()

    async def source() -> AsyncIterator[bytes]:
        while client.blocks.count(HEARTBEAT) < 2:
            await asyncio.sleep(0.001)
        yield frame(b"1")
        while client.blocks.count(HEARTBEAT) < 4:
            await asyncio.sleep(0.001)

    await respond(client, source(), heartbeat_seconds=0.01)
    assert HEARTBEAT.startswith(b":")
    assert client.blocks.index(frame(b"1")) >= 2
    assert client.blocks[-1] == HEARTBEAT


async def test_a_busy_stream_needs_no_heartbeat() -> None:
    client = Client()
    await respond(client, pieces(*[frame(b"1")] * 1000), heartbeat_seconds=60)
    assert HEARTBEAT not in b"".join(client.blocks)


@pytest.mark.parametrize("leaves_after", [0, 1])
async def test_a_client_that_leaves_is_noticed_while_nothing_happens(leaves_after: int) -> None:
    client = Client(leaves_after=leaves_after)
    calls: list[str] = []

    async def source() -> AsyncIterator[bytes]:
        try:
            for _ in range(leaves_after):
                yield frame(b"1")
            await asyncio.Event().wait()
        finally:
            calls.append("closed")

    await respond(client, source(), on_disconnect=lambda: calls.append("left"))
    assert calls == ["left", "closed"]
    assert not client.finished


async def test_a_source_that_waits_for_a_slow_client_is_closed_when_it_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sse, "AHEAD", 1)
    client = Client()
    calls: list[str] = []

    async def send(message: Any) -> None:
        if message.get("body"):
            client.gone.set()
            await asyncio.sleep(0.01)  # meanwhile the source is a frame ahead, and waits

    async def source() -> AsyncIterator[bytes]:
        try:
            while True:
                yield frame(b"1")
        finally:
            calls.append("closed")

    await event_stream(source(), on_disconnect=lambda: calls.append("left"))(
        SCOPE, client.receive, send
    )
    assert calls == ["left", "closed"]


async def test_a_stream_that_ends_by_itself_is_not_a_disconnect() -> None:
    left: list[int] = []
    await respond(Client(), pieces(DONE), on_disconnect=lambda: left.append(1))
    assert left == []


async def test_a_source_that_raises_breaks_the_stream_after_what_it_had() -> None:
    client = Client()
    left: list[int] = []

    async def source() -> AsyncIterator[bytes]:
        yield frame(b"1")
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        await respond(client, source(), on_disconnect=lambda: left.append(1))
    assert client.blocks == [frame(b"1")]
    assert not client.finished
    assert left == [1]


async def test_a_stream_that_the_server_cancels_counts_as_left() -> None:
    left: list[int] = []

    async def source() -> AsyncIterator[bytes]:
        await asyncio.Event().wait()
        yield b""

    answering = asyncio.create_task(
        respond(Client(), source(), on_disconnect=lambda: left.append(1))
    )
    await asyncio.sleep(0.01)
    answering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answering
    assert left == [1]


async def test_no_more_is_read_ahead_than_may_wait_for_a_slow_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sse, "AHEAD", 1000)
    client = Client()
    taken = 0
    slow = asyncio.Event()

    async def send(message: Any) -> None:
        await client.send(message)
        if message.get("body"):
            await slow.wait()

    async def source() -> AsyncIterator[bytes]:
        nonlocal taken
        for _ in range(1000):
            taken += 1
            yield b"x" * 100

    stream = event_stream(source())
    answering = asyncio.create_task(stream(SCOPE, client.receive, send))
    for _ in range(50):
        await asyncio.sleep(0.001)
    assert taken <= 2 * 10 + 1
    slow.set()
    await answering
    assert taken == 1000
    assert max(map(len, client.blocks)) <= 1000


async def test_a_fast_client_leaves_the_loop_to_others() -> None:
    """`send` never waits here; a second task still gets its turns between the blocks."""
    turns = 0
    client = Client()

    async def other(going: Callable[[], bool]) -> None:
        nonlocal turns
        while going():
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(other(lambda: not client.sent or not client.finished))
    await respond(client, pieces(*[b"x" * sse.AHEAD] * 100))
    await beside
    assert turns >= 100
