"""Server-sent events: the one file that knows the frame, the heartbeat and the headers.

    return event_stream(frames, heartbeat_seconds=10, on_disconnect=running.leave)

`frames` is whatever a route yields with `frame(...)`, and `DONE` last where a client expects it.

Not a buffer between a fast source and a slow client: at most `AHEAD` bytes are read ahead of it,
and then the source waits. Not a place for errors either: once a stream has begun there is no status
left to send, so a route turns what goes wrong into a last frame. A source that raises all the same
cuts the connection, which no client takes for an end.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

AHEAD = 256 * 1024
"""Bytes of frames that may wait for a client."""

DONE = b"data: [DONE]\n\n"
HEARTBEAT = b": heartbeat\n\n"

LINE_BREAKS = tuple((chr(code).encode(), b"\\u%04x" % code) for code in (0x0085, 0x2028, 0x2029))

HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store, no-transform",  # a proxy that compresses holds events back
    "X-Accel-Buffering": "no",  # nginx would collect events into blocks
}


def frame(data: bytes, id: str | None = None, event: str | None = None) -> bytes:
    """One event. JSON on the wire has no raw line breaks, so one `data:` line is enough."""
    named = b"" if event is None else b"event: %b\n" % event.encode()
    numbered = b"" if id is None else b"id: %b\n" % id.encode()
    return b"%b%bdata: %b\n\n" % (named, numbered, escape_breaks(data))


def escape_breaks(data: bytes) -> bytes:
    """JSON as it is, but for three characters at which some clients break lines.

    They do so where Unicode does, not where the format says. In JSON those characters can only be
    inside a string.
    """
    if not data.isascii():
        for raw, escaped in LINE_BREAKS:
            data = data.replace(raw, escaped)
    return data


def event_stream(
    source: AsyncIterator[bytes],
    *,
    heartbeat_seconds: float = 10.0,
    on_disconnect: Callable[[], None] | None = None,
    headers: Mapping[str, str] | None = None,
) -> "EventStream":
    """A response that sends frames as they come.

    Frames that are ready together go out in one write. When there is nothing to send for
    `heartbeat_seconds`, before the first frame too, a comment is sent. `on_disconnect` is called
    once if the stream is cut short: the client left, the server stops, or the source raised. In any
    case the source is closed.
    """
    return EventStream(source, heartbeat_seconds, on_disconnect, headers)


class EventStream(Response):
    """See `event_stream`."""

    def __init__(
        self,
        source: AsyncIterator[bytes],
        heartbeat_seconds: float,
        on_disconnect: Callable[[], None] | None,
        headers: Mapping[str, str] | None,
    ) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers(HEADERS | dict(headers or {}))
        self._source = source
        self._heartbeat = heartbeat_seconds
        self._on_disconnect = on_disconnect

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the source ends or the client leaves, whichever comes first."""
        pump = _Pump()
        reading = asyncio.create_task(pump.read(self._source))
        leaving = asyncio.create_task(_left(receive))
        leaving.add_done_callback(lambda _task: pump.news.set())
        whole = False
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            whole = await self._send_all(pump, leaving, send)
            if whole:
                await reading  # raises what the source raised
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except BaseException:
            whole = False
            raise
        finally:
            if not whole and self._on_disconnect is not None:
                self._on_disconnect()
            for task in (reading, leaving):
                task.cancel()
            await asyncio.gather(reading, leaving, return_exceptions=True)
            await _close(self._source)

    async def _send_all(self, pump: "_Pump", leaving: asyncio.Task[None], send: Send) -> bool:
        """Pass on what the pump has read. -> whether it was all.

        `send` to a fast client never waits; waiting for the pump gives others their turns.
        """
        while not leaving.done():
            block = pump.take() if await pump.stirs(self._heartbeat) else HEARTBEAT
            if block:
                await send({"type": "http.response.body", "body": block, "more_body": True})
            elif pump.over:
                return True
        return False


class _Pump:
    """Reads a source a little ahead of the client."""

    def __init__(self) -> None:
        self._waiting: list[bytes] = []
        self.over = False
        self.news = asyncio.Event()
        self._size = 0
        self._room = asyncio.Event()

    async def read(self, source: AsyncIterator[bytes]) -> None:
        """To the end, or to what the source raises."""
        try:
            async for piece in source:
                self._waiting.append(piece)
                self._size += len(piece)
                self.news.set()
                if self._size >= AHEAD:
                    self._room.clear()
                    await self._room.wait()
        finally:
            self.over = True
            self.news.set()

    async def stirs(self, seconds: float) -> bool:
        """Wait until there is something to do, but no longer than that. -> whether there is."""
        try:
            async with asyncio.timeout(seconds):
                await self.news.wait()
        except TimeoutError:
            return False
        return True

    def take(self) -> bytes:
        """All that waits, in one piece."""
        block = b"".join(self._waiting)
        self._waiting.clear()
        self._size = 0
        self._room.set()
        if not self.over:
            self.news.clear()
        return block


async def _left(receive: Receive) -> None:
    """Return when the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _close(source: AsyncIterator[bytes]) -> None:
    """Let an async generator run its `finally`."""
    close = getattr(source, "aclose", None)
    if close is not None:
        await close()
