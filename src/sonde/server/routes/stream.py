"""Records as they are written: the live stream, and history as plain lines.

Everything that can be wrong with a request raises before the first byte. A browser that lost the
stream comes back with `Last-Event-ID`, which wins over `from`; one that cannot be read (it is from
another server, say) begins again, and says so in its `source`, instead of being refused, because
browsers give up for good on a refusal.
"""

import asyncio
import re
from functools import lru_cache
from typing import Annotated

from fastapi import APIRouter, Header, Query
from starlette.responses import Response

from sonde.errors import BadRequest
from sonde.runs.hub import Hub
from sonde.runs.ids import LETTERS, Companion, StreamPosition, parse_id
from sonde.runs.places import Begin
from sonde.server.frames import BATCH_LIMIT, Events, PlainLines
from sonde.server.live import RETRY, LiveStream, heartbeat_event, notice_event
from sonde.server.routes.runs import Run

STREAM_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache",
    "X-Accel-Buffering": "no",
}
LINES_HEADERS = {"Content-Type": "application/x-ndjson", "Cache-Control": "no-store"}

_LAYERS = re.compile(r"[0-9]{1,6}(,[0-9]{1,6}){0,999}")

Layers = Annotated[str | None, Query(description="Only records of these layers: `0,15`.")]
From = Annotated[
    str | None,
    Query(
        alias="from",
        description="`start` for the whole run, `live` for what comes next, or the id of an event; "
        "without it, what is being written, from its beginning.",
    ),
]


def routes(hub: Hub, heartbeat_seconds: float = 10.0) -> APIRouter:
    """The routes that listen."""
    router = APIRouter(prefix="/api/p5/sae", tags=["runs"])
    events_as = lru_cache(maxsize=256)(Events)
    lines_as = lru_cache(maxsize=256)(PlainLines)

    @router.get("/stream", operation_id="stream_records", response_class=Response)
    async def stream(
        run: Run = None,
        layers: Layers = None,
        begin: From = None,
        follow: Annotated[bool, Query(description="0 ends at the end of what is there.")] = True,
        include: Annotated[
            str | None, Query(description="`generation,metrics,health`: their lines too.")
        ] = None,
        batch: Annotated[
            int, Query(ge=1, le=BATCH_LIMIT, description="Up to so many records an event.")
        ] = 1,
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> Response:
        """Records as server-sent events, one a line as it was written, then follow."""
        events = events_as(None, _layers(layers), batch)
        companions = {name: events_as(name, None, batch) for name in _companions(include)}
        found = await asyncio.to_thread(hub.find, run)
        place, reason = _begin(begin, last_event_id)
        listener = hub.listen(found, events, place, companions, anywhere=run is None, reason=reason)
        if not follow:
            listener.stop_at_end()
        return LiveStream(
            listener,
            STREAM_HEADERS,
            notice=notice_event,
            heartbeat=heartbeat_event,
            heartbeat_seconds=heartbeat_seconds,
            follow=follow,
            first=RETRY,
        )

    @router.get("/records", operation_id="read_records", response_class=Response)
    async def records(run: Run = None, layers: Layers = None, begin: From = "start") -> Response:
        """Records there are now, one JSON object a line.

        A page reads history here, then follows with `from=` the `X-Next-Id` of this answer.
        """
        found = await asyncio.to_thread(hub.find, run)
        listener = hub.listen(found, lines_as(_layers(layers)), _begin(begin, None)[0])
        end = listener.stop_at_end()
        return LiveStream(
            listener,
            LINES_HEADERS | {"X-Next-Id": end},
            notice=lambda _notice, _id: b"",
            follow=False,
        )

    return router


def _begin(given: str | None, last: str | None) -> tuple[Begin | StreamPosition, str | None]:
    """Where to begin, and why that is not where the listener was."""
    if last:
        try:
            return parse_id(last), None
        except BadRequest:
            return "active", f"Last-Event-ID {last[:80]!r} is no id of this stream: begun again"
    if given is None:
        return "active", None
    if given == "start":
        return "start", None
    if given == "live":
        return "live", None
    return parse_id(given), None


def _layers(text: str | None) -> frozenset[int] | None:
    if text is None:
        return None
    if not _LAYERS.fullmatch(text):
        raise BadRequest(f"layers {text[:80]!r} are not numbers with commas between, such as 0,15")
    return frozenset(map(int, text.split(",")))


def _companions(text: str | None) -> list[Companion]:
    names = [] if not text else text.split(",")
    known: list[Companion] = [name for name in LETTERS if name in names]
    if len(known) != len(set(names)):
        unknown = sorted(set(names) - set(LETTERS))[0]
        raise BadRequest(f"include {unknown[:40]!r} is none of {sorted(LETTERS)}")
    return known
