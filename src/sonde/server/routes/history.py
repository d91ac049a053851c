"""Sweeps of the past and under way: list them, come back to one by its id, take one along.

There is one history. `/v1/sweeps` shows all of it; `/v1/patch_sweep` shows the classic sweeps, in
the form that their clients know, and no others. A server without a model has all of this too. What
people say of a sweep, and that it is to be deleted, is one resource of its own, `/v1/history/{id}`,
because `DELETE` of a sweep cancels it.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Response

from sonde.errors import BadRequest, SweepNotFinished, UnknownSweep
from sonde.results import Provenance, Sweep, result_of
from sonde.schema import (
    ExportFormat,
    Remarks,
    SweepEntry,
    SweepHistory,
    SweepKind,
    SweepRecord,
    SweepSummary,
)
from sonde.server.past import Numbered, Readable
from sonde.server.sse import DONE, event_stream, frame
from sonde.store.sweep_file import Only

SweepId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")]

MEDIA_TYPES: dict[ExportFormat, str] = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "png": "image/png",
    "svg": "image/svg+xml",
    "html": "text/html; charset=utf-8",
}


@dataclass(frozen=True)
class View:
    """Where the history is shown, which sweeps of it, and what the operations are called."""

    path: str
    kind: SweepKind | None
    history: str
    one: str
    events: str
    export: str

    def check(self, sweeps: Readable, sweep: str) -> None:
        """Refuse a sweep that is not there, or not shown here."""
        try:
            shown = self.kind in (None, sweeps.kind(sweep))
        except UnknownSweep:
            shown = False
        if not shown:
            raise UnknownSweep(sweep, self.path)


CLASSIC = View(
    "/v1/patch_sweep", "classic", "sweep_history", "get_sweep", "sweep_events", "export_sweep"
)
GENERAL = View("/v1/sweeps", None, "table_history", "get_table", "table_events", "export_table")


def routes(sweeps: Readable, view: View, heartbeat_seconds: float = 10.0) -> APIRouter:
    """The routes of a view that read."""
    router = APIRouter(prefix=view.path, tags=["sweeps"])
    drawing = asyncio.Lock()

    @router.get("", operation_id=view.history)
    async def history(
        before: str | None = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 50,
        starred: bool = False,
        search: Annotated[str, Query(max_length=200)] = "",
    ) -> SweepHistory:
        """Sweeps of the past and under way, newest first.

        With `starred` those that have a star; with `search` those that have all of these words, in
        any order and case, in their name, note, id or request.
        """
        only = Only(view.kind, starred, search)
        return await asyncio.to_thread(sweeps.history, before=before, limit=limit, only=only)

    @router.get("/{sweep_id}", operation_id=view.one)
    async def one(sweep_id: SweepId) -> SweepRecord:
        """One sweep with its provenance, and what it found when it has finished."""
        await asyncio.to_thread(view.check, sweeps, sweep_id)
        return await asyncio.to_thread(sweeps.record, sweep_id)

    @router.get("/{sweep_id}/events", operation_id=view.events)
    async def events(
        sweep_id: SweepId,
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> Response:
        """A sweep's events, numbered, from the first or from the one after `Last-Event-ID`."""
        after = _number(last_event_id)
        await asyncio.to_thread(view.check, sweeps, sweep_id)
        last = await asyncio.to_thread(sweeps.last_number, sweep_id)
        if last is not None and after >= last:
            return Response(status_code=204)  # a browser's EventSource then stops asking
        return event_stream(
            _numbered(sweeps.follow(sweep_id, after)),
            heartbeat_seconds=heartbeat_seconds,
            headers={"X-Sweep-Id": sweep_id},
        )

    @router.get("/{sweep_id}/export", operation_id=view.export)
    async def export(sweep_id: SweepId, format: ExportFormat = "json") -> Response:
        """A finished sweep as a file."""
        await asyncio.to_thread(view.check, sweeps, sweep_id)
        record = await asyncio.to_thread(sweeps.record, sweep_id)
        if record.found is None:
            raise SweepNotFinished(sweep_id, record.state, view.path)
        async with drawing:  # pictures are drawn one at a time
            made = await asyncio.to_thread(_result(record).encoded, format)
        name = f"sweep-{sweep_id}.{format}"
        return Response(
            made,
            media_type=MEDIA_TYPES[format],
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )

    return router


def remark_routes(sweeps: Readable) -> APIRouter:
    """The route of what people say of sweeps, of either kind."""
    router = APIRouter(prefix="/v1/history", tags=["sweeps"])

    @router.patch("/{sweep_id}", operation_id="remark_sweep")
    async def remark(sweep_id: SweepId, body: Remarks) -> SweepEntry:
        """Give a sweep a name, a note, a star; what is left out stays as it is.

        One with a star is not forgotten when the history is full.
        """
        await asyncio.to_thread(GENERAL.check, sweeps, sweep_id)
        return await asyncio.to_thread(sweeps.remark, sweep_id, body)

    @router.delete("/{sweep_id}", operation_id="forget_sweep")
    async def forget(sweep_id: SweepId) -> SweepEntry:
        """Delete a sweep that has ended from the history, with all it found. It does not come back.

        The answer is what it was. One that is computed has to be cancelled first.
        """
        await asyncio.to_thread(GENERAL.check, sweeps, sweep_id)
        return await asyncio.to_thread(sweeps.forget, sweep_id)

    return router


def _result(record: SweepRecord) -> Sweep:
    """A finished sweep as people use it."""
    provenance, found = Provenance.model_validate(record.provenance.model_dump()), record.found
    assert found is not None
    if isinstance(found, SweepSummary):
        return Sweep.of(found, provenance)
    return result_of(found, provenance)


async def _numbered(
    followed: AsyncGenerator[list[Numbered]],
) -> AsyncGenerator[bytes]:
    """The stream of a subscriber to a sweep: events with their numbers as ids."""
    async with aclosing(followed) as batches:
        async for batch in batches:
            yield b"".join(frame(event, str(number)) for number, event in batch)
    yield DONE


def _number(last_event_id: str | None) -> int:
    """The number to go on after; 0 for the beginning."""
    if last_event_id in (None, ""):
        return 0
    if not last_event_id.isascii() or not last_event_id.isdigit() or len(last_event_id) > 12:
        raise BadRequest(f"Last-Event-ID {last_event_id[:40]!r} is not the number of an event")
    return int(last_event_id)
