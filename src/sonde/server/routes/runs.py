"""Which runs and checkpoints there are, and how listening to them goes."""

import asyncio
import time
from typing import Annotated

from fastapi import APIRouter, Query

from sonde.runs.hub import Hub
from sonde.runs.listing import is_folder
from sonde.runs.pulse import Pulses
from sonde.runs.reader import Counts, checkpoint_list, run_list
from sonde.runs.watched import WatchedRun
from sonde.schema.runs import (
    BadLineReport,
    CheckpointList,
    GatewayHealth,
    RunList,
    StreamHealth,
)

Run = Annotated[str | None, Query(description="Which run, as GET /api/runs lists them.")]


def routes(hub: Hub) -> APIRouter:
    """The routes that list."""
    router = APIRouter(prefix="/api", tags=["runs"])
    counts, pulses = Counts(), Pulses()

    @router.get("/p5/runs", operation_id="list_checkpoints")
    def list_checkpoints(run: Run = None) -> CheckpointList:
        """The checkpoints of a run, in numeric order, with how many records each has."""
        layout = hub.layout_of(run)
        shown = hub.layout.directory if layout.directory == hub.root else layout.directory
        return checkpoint_list(layout, counts, shown)

    @router.get("/runs", operation_id="list_runs")
    def list_runs() -> RunList:
        """The runs there are, the one written to last first."""
        return run_list(hub, pulses)

    @router.get("/p5/health", operation_id="stream_health")
    async def health() -> GatewayHealth:
        """Lag, listeners, bad lines and rates."""
        return GatewayHealth(
            status="stopping" if hub.stopping else "ok",
            uptime_seconds=round(time.monotonic() - hub.started, 3),
            p5_dir=str(hub.layout.directory),
            p5_dir_exists=await asyncio.to_thread(is_folder, hub.root),
            listeners=sum(map(len, hub.listeners.values())),
            cache_bytes=hub.cache.bytes,
            cache_limit_bytes=hub.cache.limit,
            runs=[stream_health(hub, run) for run in hub.runs],
        )

    return router


def stream_health(hub: Hub, run: WatchedRun) -> StreamHealth:
    """How listening to one run goes."""
    listeners = hub.listeners.get(run, set())
    behind = [listener.records.behind for listener in listeners]
    return StreamHealth(
        run=hub.name_of(run.layout),
        directory=str(run.layout.directory),
        listeners=len(listeners),
        catching_up=sum(some > 0 for some in behind),
        lag_bytes=max(behind, default=0),
        notifications="none" if not listeners else "stat" if run.why_polling else "inotify",
        why_stat=run.why_polling,
        bad_lines=run.withheld.count,
        first_bad_lines=[
            BadLineReport(file=line.file, offset=line.offset, fault=line.fault)
            for line in run.withheld.first
        ],
        records_read=run.records_read,
        records_per_second=_rate(run),
        lines_sent=run.lines_sent,
    )


def _rate(run: WatchedRun) -> float:
    if len(run.samples) < 2:
        return 0.0
    (began, before), (ended, after) = run.samples[0], run.samples[-1]
    return round((after - before) / max(ended - began, 1e-9), 3)
