"""A gateway's answers about itself; see `health` for those of a server with a model.

What takes a model is answered too, by saying that there is none and how to have one: clients find
the same paths at every Sonde server.
"""

import asyncio

from fastapi import APIRouter, Response
from prometheus_client import generate_latest

from sonde.errors import NoModel
from sonde.schema import Health, Readiness
from sonde.server.metrics import CONTENT_TYPE
from sonde.server.parts import Gateway

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


def routes(gateway: Gateway) -> APIRouter:
    """`/health`, `/ready`, `/metrics`, and a word about everything below `/v1`."""
    router = APIRouter(tags=["server"])

    @router.get("/health", operation_id="health")
    async def health() -> Health:
        """The process is alive."""
        return Health()

    @router.get("/ready", operation_id="ready", responses={503: {"model": Readiness}})
    async def ready(response: Response) -> Readiness:
        """Whether listeners are taken: 503 while the gateway stops."""
        stopping = gateway.runs.stopping
        if stopping:
            response.status_code = 503
            response.headers["Retry-After"] = "5"
        return Readiness(ready=not stopping, reason="the gateway is stopping" if stopping else None)

    @router.get("/metrics", operation_id="metrics", response_class=Response)
    async def metrics() -> Response:
        """Counters in Prometheus' text format."""
        text = await asyncio.to_thread(generate_latest, gateway.metrics.registry)
        return Response(text, media_type=CONTENT_TYPE)

    @router.api_route("/v1/{path:path}", methods=METHODS, include_in_schema=False)
    async def no_model(path: str) -> None:
        """Nothing that takes a model is here."""
        raise NoModel

    return router
