"""Whether the server lives, whether it is ready, what it counts and what it can do."""

import asyncio
from typing import get_args

from fastapi import APIRouter, Request, Response

from sonde.backends.base import Backend
from sonde.errors import EngineLost, ServerStopping
from sonde.sae import shipped
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
from sonde.server.model_of import model_of
from sonde.server.parts import Parts
from sonde.server.queries import OfModel


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
        """Whether work that is sent now will be done: 503 when the model is lost or it stops.

        A model that is busy, however long, is ready: what is sent waits for its turn, or is told by
        429 that too much waits already. `/v1/capabilities` says how much that is.
        """
        reason = _not_ready(parts)
        if reason is not None:
            response.status_code = 503
            response.headers["Retry-After"] = "5"
        return Readiness(ready=reason is None, reason=reason)

    @router.get("/metrics", operation_id="metrics", response_class=Response)
    async def metrics() -> Response:
        """Counters and gauges in Prometheus' text format."""
        return Response(await asyncio.to_thread(exposition, parts), media_type=CONTENT_TYPE)

    @router.get("/v1/capabilities", operation_id="capabilities")
    async def capabilities(request: Request, model: OfModel = None) -> Capabilities:
        """The model, its hooks, the limits, what can be chosen, and how busy the server is.

        One that is named is loaded for that, if it was not.
        """
        served = await model_of(request, parts.models, model)
        return await asyncio.to_thread(_capabilities, parts, served.backend)

    return router


def _not_ready(parts: Parts) -> str | None:
    """Why the model will not answer; None when it will. Asks no work of it."""
    engine = parts.engine
    try:
        if engine.lost is not None:
            raise engine.lost
        if engine.stopping or not engine.alive:
            raise ServerStopping
        parts.backend.describe()
    except (EngineLost, ServerStopping) as error:
        return str(error)
    return None


def _capabilities(parts: Parts, backend: Backend) -> Capabilities:
    runs = backend.manifests().values()
    queues = {kind: Queue(active=a, waiting=w) for kind, (a, w) in parts.engine.counts().items()}
    limits, model = parts.limits, backend.describe()
    return Capabilities(
        model=model,
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
            budget_bytes=backend.source_budget(),
        ),
        dictionary_layers=list(shipped.layers()) if model.name == shipped.MODEL else [],
        versions=parts.versions,
    )
