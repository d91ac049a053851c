"""Whether the server lives, whether it is ready, what it counts and what it can do."""

import asyncio
from typing import get_args

from fastapi import APIRouter, Response

from sonde.errors import EngineLost, ServerBusy, ServerStopping
from sonde.schema import (
    Capabilities,
    ExportFormat,
    Health,
    Metric,
    Pairing,
    Queue,
    Queues,
    Readiness,
    ServerLimits,
    SourceRunUse,
)
from sonde.server.metrics import CONTENT_TYPE, exposition
from sonde.server.parts import Parts

READY_SECONDS = 5.0
"""A server whose model does not answer for so long is not ready."""


def routes(parts: Parts) -> APIRouter:
    """`/health`, `/ready`, `/metrics` and `/v1/capabilities`."""
    router = APIRouter(tags=["server"])

    @router.get("/health", operation_id="health")
    async def health() -> Health:
        """The process is alive. Never waits for the model."""
        if parts.engine.lost is not None:
            raise parts.engine.lost
        return Health()

    @router.get("/ready", operation_id="ready", responses={503: {"model": Readiness}})
    async def ready(response: Response) -> Readiness:
        """Whether the model answers: 503 while it does not, and while the server stops."""
        reason = await _not_ready(parts)
        if reason is not None:
            response.status_code = 503
            response.headers["Retry-After"] = "5"
        return Readiness(ready=reason is None, reason=reason)

    @router.get("/metrics", operation_id="metrics", response_class=Response)
    async def metrics() -> Response:
        """Counters and gauges in Prometheus' text format."""
        return Response(await asyncio.to_thread(exposition, parts), media_type=CONTENT_TYPE)

    @router.get("/v1/capabilities", operation_id="capabilities")
    async def capabilities() -> Capabilities:
        """The model, its hooks, the limits, what can be chosen, and how busy the server is."""
        return await asyncio.to_thread(_capabilities, parts)

    return router


async def _not_ready(parts: Parts) -> str | None:
    """Why the model does not answer; None when it does."""
    try:
        async with asyncio.timeout(READY_SECONDS):
            await parts.engine.call(parts.backend.describe)
    except TimeoutError:
        return f"the model has not answered for {READY_SECONDS:g} seconds"
    except (EngineLost, ServerBusy, ServerStopping) as error:
        return str(error)
    return None


def _capabilities(parts: Parts) -> Capabilities:
    runs = parts.backend.manifests().values()
    queues = {kind: Queue(active=a, waiting=w) for kind, (a, w) in parts.engine.counts().items()}
    limits = parts.limits
    return Capabilities(
        model=parts.backend.describe(),
        metrics=list(get_args(Metric)),
        pairings=list(get_args(Pairing)),
        export_formats=list(get_args(ExportFormat)),
        limits=ServerLimits(
            cells=limits.cells,
            layers=limits.layers,
            positions=limits.positions,
            prompt_chars=limits.prompt_chars,
            body_bytes=parts.network.max_body_bytes,
        ),
        queues=Queues(sweep=queues["sweep"], call=queues["call"]),
        source_runs=SourceRunUse(
            runs=len(runs),
            used_bytes=sum(run.bytes for run in runs),
            budget_bytes=parts.backend.source_budget(),
        ),
        versions=parts.versions,
    )
