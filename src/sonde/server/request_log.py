"""One line of JSON per request, an id that finds it again, and the end of the road for bugs.

A line says which route, not which path: ids and names that people chose stay out of it, and so do
bodies, query strings and keys. An exception that nobody turned into an answer becomes a 500 with
the request's id; its traceback is in the log and nowhere else.
"""

import asyncio
import json
import logging
import re
import time
import uuid
from datetime import UTC, datetime
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sonde.errors import ServerStopping
from sonde.server.errors import error_response, refusal
from sonde.server.metrics import Metrics

log = logging.getLogger(__name__)

CLIENT_LEFT = 499
"""What is logged when nobody was there to be answered."""

UNMATCHED = "(none)"

_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")

HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-store",
}
"""On every answer that does not say otherwise."""

NO_PAGE = b"default-src 'none'; frame-ancestors 'none'"
PAGE = (
    b"default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    b"img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
)


class RequestLog:
    """The outermost layer: sees every request and every answer."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and note what became of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send)
        began = time.perf_counter()
        try:
            await self._app(scope, exchange.receive, exchange.send)
        except asyncio.CancelledError:  # the server stops, and this took too long
            if exchange.status is None:
                answer = error_response(scope["path"], ServerStopping())
                await answer(scope, exchange.receive, exchange.send)
            raise
        except Exception as error:
            log.error("request %s failed", exchange.id, exc_info=error)
            if exchange.status is not None:
                raise  # half an answer is out: the connection has to break
            await self._apologise(exchange, scope)
        finally:
            self._note(exchange, scope, time.perf_counter() - began)

    async def _apologise(self, exchange: "_Exchange", scope: Scope) -> None:
        message = f"internal error; the server's log says more under request {exchange.id}"
        await refusal(scope["path"], 500, message)(scope, exchange.receive, exchange.send)

    def _note(self, exchange: "_Exchange", scope: Scope, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", UNMATCHED)
        status = exchange.status or CLIENT_LEFT
        self._metrics.request(route, scope["method"], status, seconds)
        client = scope.get("client")
        fields = {
            "method": scope["method"],
            "route": route,
            "status": status,
            "milliseconds": round(1000 * seconds, 1),
            "request": exchange.id,
            "client": client[0] if client else None,
        }
        log.info("request", extra={"fields": fields})


class _Exchange:
    """One request and its answer, as they pass by."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        asked = dict(scope["headers"]).get(b"x-request-id", b"")
        self.id = asked.decode() if _ID.fullmatch(asked) else uuid.uuid4().hex[:16]
        self.status: int | None = None
        self._gone = False

    async def receive(self) -> Message:
        """Note whether the client left."""
        message = await self._receive()
        self._gone = self._gone or message["type"] == "http.disconnect"
        return message

    async def send(self, message: Message) -> None:
        """Note the status, and add the headers that all answers have."""
        if message["type"] == "http.response.start":
            self.status = CLIENT_LEFT if self._gone else message["status"]
            message = {**message, "headers": _with_headers(message, self.id)}
        await self._send(message)


def _with_headers(message: Message, request_id: str) -> list[tuple[bytes, bytes]]:
    headers = [(name.lower(), value) for name, value in message.get("headers", [])]
    given = dict(headers)
    page = given.get(b"content-type", b"").startswith(b"text/html")
    usual = HEADERS | {b"content-security-policy": PAGE if page else NO_PAGE}
    headers += [(name, value) for name, value in usual.items() if name not in given]
    return [*headers, (b"x-request-id", request_id.encode())]


class JsonLines(logging.Formatter):
    """A log record as one line of JSON; a request's fields stand beside the message."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)
