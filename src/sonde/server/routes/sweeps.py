"""Sweeps: run one, estimate one, and come back to one by its id.

A stream waits a little for its first event before it begins: what goes wrong until then still has a
status. After that there is none to send, and the last event says what went wrong.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import JSONResponse

from sonde.errors import BadRequest, SweepNotFinished
from sonde.results import Provenance, Sweep
from sonde.schema import (
    Estimate,
    ExportFormat,
    PatchSweepRequest,
    SweepCancelled,
    SweepEntry,
    SweepHistory,
    SweepRecord,
    SweepSummary,
)
from sonde.server.leaving import unless_gone
from sonde.server.parts import Parts
from sonde.server.sse import DONE, event_stream, frame
from sonde.server.sweeps import RunningSweep

SweepId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")]

MEDIA_TYPES: dict[ExportFormat, str] = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "png": "image/png",
    "svg": "image/svg+xml",
    "html": "text/html; charset=utf-8",
}

CANCEL_SECONDS = 5.0
"""How long an answer to a cancellation waits for the sweep to have ended."""


def routes(parts: Parts) -> APIRouter:
    """The routes under `/v1/patch_sweep`."""
    router = APIRouter(prefix="/v1/patch_sweep", tags=["sweeps"])
    sweeps, network = parts.sweeps, parts.network
    drawing = asyncio.Lock()

    @router.post("", operation_id="patch_sweep", response_model=SweepSummary)
    async def patch_sweep(
        body: PatchSweepRequest, request: Request, prefer: Annotated[str, Header()] = ""
    ) -> Response:
        """Patch every site of a grid and grade each.

        One JSON body, or with `stream` events as they come. With the header `Prefer: respond-async`
        the answer is the sweep's entry, at once; its events are then at `events`. Otherwise the
        sweep stops when the client leaves.
        """
        running = await sweeps.start(body, parts.vectors.snapshot())
        headers = {"X-Sweep-Id": running.id}
        if "respond-async" in prefer:
            place = {"Location": f"/v1/patch_sweep/{running.id}"}
            entry = running.entry().model_dump(mode="json")
            return JSONResponse(entry, status_code=202, headers=headers | place)
        try:
            if not body.stream:
                summary = await unless_gone(request, running.finished())
                text = summary.model_dump_json(exclude={"type"})
                return Response(text, media_type="application/json", headers=headers)
            with suppress(TimeoutError):
                async with asyncio.timeout(network.heartbeat_seconds):
                    await unless_gone(request, running.began())
        except BaseException:
            running.leave()
            raise
        return event_stream(
            _frames(running),
            heartbeat_seconds=network.heartbeat_seconds,
            on_disconnect=running.leave,
            headers=headers,
        )

    @router.post("/estimate", operation_id="estimate_sweep")
    async def estimate_sweep(body: PatchSweepRequest) -> Estimate:
        """What a sweep would cost: cells, bytes, seconds. Captures nothing."""
        return await sweeps.estimate(body, parts.vectors.snapshot())

    @router.get("", operation_id="sweep_history")
    async def history(
        before: str | None = None, limit: Annotated[int, Query(ge=1, le=1000)] = 50
    ) -> SweepHistory:
        """Sweeps of the past and under way, newest first."""
        return await asyncio.to_thread(sweeps.history, before=before, limit=limit)

    @router.get("/{sweep_id}", operation_id="get_sweep")
    async def one(sweep_id: SweepId) -> SweepRecord:
        """One sweep with its provenance, and its summary when it has finished."""
        return await asyncio.to_thread(sweeps.record, sweep_id)

    @router.delete("/{sweep_id}", operation_id="cancel_sweep")
    async def cancel(sweep_id: SweepId) -> SweepCancelled:
        """Stop a sweep within one chunk. It stays in the history."""
        running = await asyncio.to_thread(sweeps.cancel, sweep_id)
        if running is None:
            record: SweepEntry = await asyncio.to_thread(sweeps.record, sweep_id)
            return SweepCancelled(cancelled=False, state=record.state)
        with suppress(TimeoutError):
            async with asyncio.timeout(CANCEL_SECONDS):
                async for _ in running.follow():
                    pass
        return SweepCancelled(cancelled=running.state != "finished", state=running.state)

    @router.get("/{sweep_id}/events", operation_id="sweep_events")
    async def events(
        sweep_id: SweepId,
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> Response:
        """A sweep's events, numbered, from the first or from the one after `Last-Event-ID`."""
        after = _number(last_event_id)
        count = await asyncio.to_thread(sweeps.n_events, sweep_id)
        if count is not None and after >= count:
            return Response(status_code=204)  # a browser's EventSource then stops asking
        return event_stream(
            _numbered(sweeps.follow(sweep_id, after)),
            heartbeat_seconds=network.heartbeat_seconds,
            headers={"X-Sweep-Id": sweep_id},
        )

    @router.get("/{sweep_id}/export", operation_id="export_sweep")
    async def export(sweep_id: SweepId, format: ExportFormat = "json") -> Response:
        """A finished sweep as a file."""
        record = await asyncio.to_thread(sweeps.record, sweep_id)
        if record.summary is None:
            raise SweepNotFinished(sweep_id, record.state)
        provenance = Provenance.model_validate(record.provenance.model_dump())
        async with drawing:  # pictures are drawn one at a time
            made = await asyncio.to_thread(Sweep(record.summary, provenance).encoded, format)
        name = f"sweep-{sweep_id}.{format}"
        return Response(
            made,
            media_type=MEDIA_TYPES[format],
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )

    return router


async def _frames(running: RunningSweep) -> AsyncGenerator[bytes]:
    """The stream of whoever sent the sweep: all events, and the end where there is a summary."""
    async with aclosing(running.follow()) as batches:
        async for batch in batches:
            yield b"".join(frame(event) for _, event in batch)
    if running.summary is not None:
        yield DONE


async def _numbered(
    followed: AsyncGenerator[list[tuple[int, bytes]]],
) -> AsyncGenerator[bytes]:
    """The stream of whoever follows a sweep: events with their numbers as ids."""
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
