"""Sweeps: run one, estimate one, cancel one; `history` comes back to one by its id.

`/v1/sweeps` takes the general request and `/v1/patch_sweep` the classic one; what is done with
either is the same. A stream waits a little for its first event before it begins: what goes wrong
until then still has a status. After that there is none to send, and the last event says what went
wrong.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import JSONResponse

from sonde.schema import Estimate, PatchSweepRequest, SweepCancelled, SweepEntry, SweepSummary
from sonde.schema.table import SweepRequest, SweepTable
from sonde.server.asks import Classic, General
from sonde.server.course import Course
from sonde.server.leaving import unless_gone
from sonde.server.model_names import ModelSource
from sonde.server.parts import Parts
from sonde.server.rewarded import Rewarded
from sonde.server.routes.history import CLASSIC, GENERAL, SweepId, View
from sonde.server.sse import DONE, event_stream, frame
from sonde.server.sweeps import RunningSweep

CANCEL_SECONDS = 5.0
"""How long an answer to a cancellation waits for the sweep to have ended."""

Prefer = Annotated[str, Header()]


def classic_routes(parts: Parts) -> APIRouter:
    """The routes under `/v1/patch_sweep`."""
    router = APIRouter(prefix=CLASSIC.path, tags=["sweeps"])
    sweeps, models = parts.sweeps, parts.models

    def asked(body: PatchSweepRequest) -> tuple[Classic, ModelSource]:
        source = models.find_or_default(body.model)
        return Classic(body, models.vectors(source)), source

    @router.post("", operation_id="patch_sweep", response_model=SweepSummary)
    async def patch_sweep(
        body: PatchSweepRequest, request: Request, prefer: Prefer = ""
    ) -> Response:
        """Patch every site of a grid and grade each.

        One JSON body, or with `stream` events as they come. With the header `Prefer: respond-async`
        the answer is the sweep's entry, at once; its events are then at `events`. Otherwise the
        sweep stops when the client leaves.
        """
        running = await sweeps.start(*await asyncio.to_thread(asked, body))
        return await _answer(parts, request, running, CLASSIC, prefer, stream=body.stream)

    @router.post("/estimate", operation_id="estimate_sweep")
    async def estimate_sweep(body: PatchSweepRequest) -> Estimate:
        """What a sweep would cost: cells, bytes, seconds. Captures nothing."""
        return await sweeps.estimate(*await asyncio.to_thread(asked, body))

    @router.delete("/{sweep_id}", operation_id="cancel_sweep")
    async def cancel(sweep_id: SweepId) -> SweepCancelled:
        """Stop a sweep, between two layers if need be. It stays in the history."""
        return await _cancel(parts, CLASSIC, sweep_id)

    return router


def general_routes(parts: Parts) -> APIRouter:
    """The routes under `/v1/sweeps`."""
    router = APIRouter(prefix=GENERAL.path, tags=["sweeps"])
    sweeps, models = parts.sweeps, parts.models

    def asked(body: SweepRequest) -> tuple[General | Course | Rewarded, ModelSource]:
        if body.reward is not None:
            test = Rewarded.of(body, models, parts.dictionaries)
            return test, test.source
        if body.checkpoints is not None:
            course = Course.of(body, models, parts.dictionaries)
            return course, course.newest
        return General(body, parts.dictionaries), models.find(body.model)

    @router.post("", operation_id="run_sweep", response_model=SweepTable)
    async def run_sweep(body: SweepRequest, request: Request, prefer: Prefer = "") -> Response:
        """Run every row of a table of writes: over sites, or over the features of a dictionary.

        With `reward` completions of a run are sampled instead, and graded.

        Answered as `/v1/patch_sweep` is: one JSON body, events with `stream`, or with the header
        `Prefer: respond-async` the sweep's entry, at once.
        """
        running = await sweeps.start(*await asyncio.to_thread(asked, body))
        return await _answer(parts, request, running, GENERAL, prefer, stream=body.stream)

    @router.post("/estimate", operation_id="estimate_table")
    async def estimate_table(body: SweepRequest) -> Estimate:
        """What a sweep would cost. For features the prompt is run once: it says which there are."""
        return await sweeps.estimate(*await asyncio.to_thread(asked, body))

    @router.delete("/{sweep_id}", operation_id="cancel_table")
    async def cancel(sweep_id: SweepId) -> SweepCancelled:
        """Stop a sweep of either kind, between two layers if need be. It stays in the history."""
        return await _cancel(parts, GENERAL, sweep_id)

    return router


async def _answer(
    parts: Parts, request: Request, running: RunningSweep, view: View, prefer: str, *, stream: bool
) -> Response:
    """The entry, the summary, or the events, as the client wants it."""
    headers, beat = {"X-Sweep-Id": running.id}, parts.network.heartbeat_seconds
    if "respond-async" in prefer:
        place = {"Location": f"{view.path}/{running.id}"}
        entry = running.entry().model_dump(mode="json")
        return JSONResponse(entry, status_code=202, headers=headers | place)
    try:
        if not stream:
            summary = await unless_gone(request, running.finished())
            text = summary.model_dump_json(exclude={"type"})
            return Response(text, media_type="application/json", headers=headers)
        with suppress(TimeoutError):
            async with asyncio.timeout(beat):
                await unless_gone(request, running.began())
    except BaseException:
        running.leave()
        raise
    return event_stream(
        _frames(running), heartbeat_seconds=beat, on_disconnect=running.leave, headers=headers
    )


async def _cancel(parts: Parts, view: View, sweep: str) -> SweepCancelled:
    sweeps = parts.sweeps
    await asyncio.to_thread(view.check, sweeps, sweep)
    running = await asyncio.to_thread(sweeps.cancel, sweep)
    if running is None:
        record: SweepEntry = await asyncio.to_thread(sweeps.record, sweep)
        return SweepCancelled(cancelled=False, state=record.state)
    with suppress(TimeoutError):
        async with asyncio.timeout(CANCEL_SECONDS):
            async for _ in running.follow():
                pass
    return SweepCancelled(cancelled=running.state != "finished", state=running.state)


async def _frames(running: RunningSweep) -> AsyncGenerator[bytes]:
    """The stream of a sweep's sender: all events, and the end where there is a summary."""
    async with aclosing(running.follow()) as batches:
        async for batch in batches:
            yield b"".join(frame(event) for _, event in batch)
    if running.summary is not None:
        yield DONE
