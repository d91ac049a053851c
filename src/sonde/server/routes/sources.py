"""Stored source runs: list, look at, drop."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path

from sonde.errors import UnknownSourceRun
from sonde.schema import SourceRun, SourceRunDropped, SourceRunList
from sonde.schema.source_run import RunName
from sonde.server.parts import Parts

RunId = Annotated[RunName, Path()]


def routes(parts: Parts) -> APIRouter:
    """The routes under `/v1/patch_source`."""
    router = APIRouter(prefix="/v1/patch_source", tags=["source runs"])
    backend = parts.backend

    @router.get("", operation_id="list_source_runs")
    async def listing() -> SourceRunList:
        """The stored runs, next to be evicted first."""
        runs = await asyncio.to_thread(backend.manifests)
        return SourceRunList(
            runs=list(runs.values()),
            used_bytes=sum(run.bytes for run in runs.values()),
            budget_bytes=backend.source_budget(),
        )

    @router.get("/{run_id}", operation_id="get_source_run")
    async def one(run_id: RunId) -> SourceRun:
        """What one run holds, how large and how old it is, and how long it is leased."""
        runs = await asyncio.to_thread(backend.manifests)
        if run_id not in runs:
            raise UnknownSourceRun(f"patch source run {run_id!r} not found")
        return runs[run_id]

    @router.delete("/{run_id}", operation_id="drop_source_run")
    async def drop(run_id: RunId) -> SourceRunDropped:
        """Forget a run, leased or not. A sweep that still needs it ends with an error."""
        if not await asyncio.to_thread(backend.drop, run_id):
            raise UnknownSourceRun(f"patch source run {run_id!r} not found")
        return SourceRunDropped(dropped=True)

    return router
