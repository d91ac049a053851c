"""HTTP/1.1 as uvicorn speaks it, with a deadline for the head of a request.

uvicorn closes connections that idle between requests, but a client that sends one byte a second of
a head that never ends may stay for ever. Here a head must be complete `HEAD_SECONDS` after the
connection was made, or after its first byte on one that is used again. Bodies have a deadline of
their own (`bodies`). What cannot be read is answered in JSON, and by its right status: 431 for a
head that is too large.

h11 and not httptools, although it is slower: it bounds the head, and refuses what is ambiguous.

A stream to hundreds of listeners spends more time in the layers above the connection than in the
kernel, and none of them has anything to add to its pieces. `Chunks` writes those straight to the
connection.
"""

import asyncio
import json
import sys
from http import HTTPStatus

import h11
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEAD_SECONDS = 10.0

CHUNKS = "sonde.chunks"
"""The extension of a request's scope that `chunks_of` finds."""


class Chunks:
    """Pieces of an answer whose length is not known, after its head and before its end.

    Head and end go the usual way. Waits while the client does not read, as that way does.
    """

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle

    async def __call__(self, piece: bytes | bytearray) -> None:
        """Write one; nothing when the client is gone."""
        cycle = self._cycle
        if cycle.flow.write_paused and not cycle.disconnected:
            await cycle.flow.drain()
        if not cycle.disconnected:
            cycle.transport.writelines((b"%x\r\n" % len(piece), piece, b"\r\n"))


def chunks_of(scope: Scope) -> Chunks | None:
    """The short way to write to this client; None where there is none.

    It has to speak HTTP/1.1: before that there were no chunks, and after it they are another's.
    """
    if scope.get("http_version") != "1.1" or scope.get("method") != "GET":
        return None
    found = scope.get("extensions", {}).get(CHUNKS, {}).get("write")
    return found if isinstance(found, Chunks) else None


class GuardedProtocol(H11Protocol):
    """One connection."""

    head_seconds = HEAD_SECONDS
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The clock starts."""
        super().connection_made(transport)
        self._start_clock()

    def data_received(self, data: bytes) -> None:
        """Part of a head, or of a body."""
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._start_clock()
        else:
            self._stop_clock()

    def handle_events(self) -> None:
        """A request may have begun: it learns of the short way."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_started:
            self.cycle.scope["extensions"] = {CHUNKS: {"write": Chunks(self.cycle)}}

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more to wait for."""
        self._stop_clock()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Called while the parser's complaint is being handled: it knows the status."""
        complaint = sys.exc_info()[1]
        status = getattr(complaint, "error_status_hint", 400)
        self._refuse(status, f"the request cannot be read: {complaint}")

    def _start_clock(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.head_seconds, self._expire)

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _expire(self) -> None:
        """The head is late: say so if it had begun."""
        self._deadline = None
        begun = bool(self.conn.trailing_data[0])
        if begun and self.conn.our_state is h11.IDLE:
            late = f"the head of the request took longer than {self.head_seconds:g} seconds"
            self._refuse(408, late)
        else:
            self.transport.close()

    def _refuse(self, status: int, message: str) -> None:
        """Answer without an app, and close."""
        body = json.dumps({"error": message}).encode()
        headers = [
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            ("connection", "close"),
        ]
        reason = HTTPStatus(status).phrase
        answer = h11.Response(status_code=status, headers=headers, reason=reason)
        for event in (answer, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
