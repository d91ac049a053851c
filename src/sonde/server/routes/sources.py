"""Stored source runs: list, look at, drop.

Each loaded model has runs of its own, which go when it goes; `weights` says whose a run is. Without
`model` a run is looked for in all of them.
"""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path

from sonde.backends.base import Backend
from sonde.errors import UnknownSourceRun
from sonde.schema import SourceRun, SourceRunDropped, SourceRunList
from sonde.schema.source_run import RunName
from sonde.server.parts import Parts
from sonde.server.queries import OfModel

RunId = Annotated[RunName, Path()]


def routes(parts: Parts) -> APIRouter:
    """The routes under `/v1/patch_source`."""
    router = APIRouter(prefix="/v1/patch_source", tags=["source runs"])
    models = parts.models

    def holders(name: str | None, run: str) -> list[Backend]:
        """The loaded models that hold a run of that name: of one model, or of all."""
        only = None if name is None else models.loaded(models.find(name))
        there = models.all_loaded() if name is None else [only] if only is not None else []
        held = [served.backend for served in there if run in served.backend.manifests()]
        if not held:
            raise UnknownSourceRun(f"patch source run {run!r} not found")
        return held

    def one_of(name: str | None, run: str) -> SourceRun:
        found = holders(name, run)[0].manifests().get(run)
        if found is None:
            raise UnknownSourceRun(f"patch source run {run!r} not found")
        return found

    def dropped(name: str | None, run: str) -> bool:
        return any([backend.drop(run) for backend in holders(name, run)])

    @router.get("", operation_id="list_source_runs")
    async def listing() -> SourceRunList:
        """The stored runs of the loaded models, of each the next to be evicted first."""
        return await asyncio.to_thread(_listing, parts)

    @router.get("/{run_id}", operation_id="get_source_run")
    async def one(run_id: RunId, model: OfModel = None) -> SourceRun:
        """What one run holds, how large and how old it is, and how long it is leased."""
        return await asyncio.to_thread(one_of, model, run_id)

    @router.delete("/{run_id}", operation_id="drop_source_run")
    async def drop(run_id: RunId, model: OfModel = None) -> SourceRunDropped:
        """Forget a run, leased or not. A sweep that still needs it ends with an error."""
        if not await asyncio.to_thread(dropped, model, run_id):
            raise UnknownSourceRun(f"patch source run {run_id!r} not found")
        return SourceRunDropped(dropped=True)

    return router


def _listing(parts: Parts) -> SourceRunList:
    backends = [served.backend for served in parts.models.all_loaded()]
    runs = [run for backend in backends for run in backend.manifests().values()]
    return SourceRunList(
        runs=runs,
        used_bytes=sum(run.bytes for run in runs),
        budget_bytes=sum(backend.source_budget() for backend in backends),
    )
