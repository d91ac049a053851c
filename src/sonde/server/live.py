"""A listener's connection: what a run's files say, as it is written, until one of them leaves.

There is one task per listener and no queue. It takes what is there, writes it in one go, gives the
others a turn, and waits for news. One that has more to take than fits into a write takes turns with
others like it, so that a subscriber at the head waits for one of them and not for all. While a
client does not read, its task waits in `send`: what is held for it is one write, of at most
`WRITE_BYTES` and a block. When it reads again, it goes on from its place in the files. Nothing here
knows what is in the lines.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sonde.runs.blocks import Encoded, Octets
from sonde.runs.hub import Listener
from sonde.runs.tail import Notice
from sonde.server.protocol import chunks_of
from sonde.server.sse import frame

WRITE_BYTES = 256 * 1024
"""A write is full when it has so much."""

Write = Callable[[Octets], Awaitable[None]]

RETRY = b"retry: 1000\n\n"
"""Milliseconds until a browser that lost the stream asks again."""


class LiveStream(Response):
    """Sends a listener's events until the client leaves, the hub stops, or there is no more.

    `notice` turns a notice into bytes; `follow` goes on after the end of what is there now.
    """

    def __init__(
        self,
        listener: Listener,
        headers: Mapping[str, str],
        *,
        notice: Callable[[Notice, str], bytes],
        heartbeat: Callable[[str], bytes] | None = None,
        heartbeat_seconds: float = 10.0,
        follow: bool = True,
        first: bytes = b"",
    ) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers(headers)
        self._listener = listener
        self._notice = notice
        self._heartbeat = heartbeat
        self._seconds = heartbeat_seconds
        self._follow = follow
        self._first = first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the end, whichever comes first."""
        leaving = asyncio.create_task(_left(receive))
        self._listener.task = asyncio.current_task()
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await self._send_all(chunks_of(scope) or _through(send), leaving)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._listener.leave()
            leaving.cancel()
            await asyncio.gather(leaving, return_exceptions=True)

    async def _send_all(self, write: Write, leaving: asyncio.Task[None]) -> None:
        listener = self._listener
        pieces: list[Octets] = [self._first]
        last = time.monotonic()
        while not leaving.done() and not listener.stopping:
            news = listener.run.news
            told = news.told
            all_there_is = await self._collect(pieces)
            if all_there_is and self._heartbeat and time.monotonic() >= last + self._seconds:
                pieces.append(self._heartbeat(listener.id))
            block = pieces[0] if len(pieces) == 1 else b"".join(pieces)
            pieces.clear()
            if block:
                await write(block)
                last = time.monotonic()
            if all_there_is and not self._follow:
                return
            if not all_there_is:
                await listener.turn()  # `send` to a fast client never waits
            elif listener.run.news is news:  # else it went to another run, of which there is more
                await news.after(told)

    async def _collect(self, pieces: list[Octets]) -> bool:
        """Add what there is to say, as much as fits into one write. -> whether that is all"""
        listener, size = self._listener, 0
        while size < WRITE_BYTES:
            item = await listener.step()
            if item is None:
                return True
            data = item.data if isinstance(item, Encoded) else self._notice(item, listener.id)
            pieces.append(data)
            size += len(data)
        return False


def notice_event(notice: Notice, id: str) -> bytes:
    """A notice as a named event."""
    return frame(json.dumps(notice.data).encode(), id, notice.event)


def heartbeat_event(id: str) -> bytes:
    """A sign of life that scripts can see."""
    return frame(b"{}", id, "heartbeat")


def _through(send: Send) -> Write:
    """Write as the framework does, through all layers."""

    async def write(block: Octets) -> None:
        await send({"type": "http.response.body", "body": bytes(block), "more_body": True})

    return write


async def _left(receive: Receive) -> None:
    """Return when the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
