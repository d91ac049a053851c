"""The app, put together from its parts.

Every router is made by a function of the parts; nothing is looked up. From the outside in, a
request passes: the log, the gate, the body reader, the routes. On shutdown the engine finishes or
cancels what it has, and then the history is closed.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, Depends, FastAPI

from sonde import __version__
from sonde.runs.analytics.service import Analytics
from sonde.runs.hub import Hub
from sonde.server.bodies import Bodies
from sonde.server.errors import add_error_handlers
from sonde.server.metrics import Metrics
from sonde.server.network import Gate
from sonde.server.openapi import describe, operation_id
from sonde.server.parts import Gateway, Network, Parts
from sonde.server.past import Readable
from sonde.server.queries import refuse_unknown_parameters
from sonde.server.request_log import RequestLog
from sonde.server.routes import (
    alive,
    analytics,
    attention,
    chat,
    completions,
    docs,
    features,
    health,
    history,
    models,
    moments,
    run_page,
    runs,
    sources,
    stream,
    sweeps,
    tasks,
    tokens,
    ui,
    vectors,
)
from sonde.server.run_tokens import Split

ROUTES = (
    sweeps.classic_routes,
    sweeps.general_routes,
    attention.routes,
    sources.routes,
    completions.routes,
    chat.routes,
    tasks.routes,
    tokens.routes,
    models.routes,
    vectors.routes,
    health.routes,
    docs.routes,
    ui.routes,
)

STOP_SECONDS = 2.0
"""How long work that was begun may take to finish once the server is asked to stop."""


class App(FastAPI):
    """The framework's app, but for its OpenAPI document, which is made when first asked for."""

    network: Network

    def openapi(self) -> dict[str, Any]:
        """The document, with what the framework cannot know of the routes."""
        if self.openapi_schema is None:
            self.openapi_schema = describe(super().openapi(), self.network)
        return self.openapi_schema


def create_app(parts: Parts) -> FastAPI:
    """The app. It owns the parts' engine, history and listeners from its start to its end."""
    routers = [routes(parts) for routes in ROUTES]
    routers += history_routers(parts.sweeps, parts.network)
    if parts.runs is not None:
        routers += run_routers(parts.runs, parts.network, tokens.splitter(parts.backend))

    async def close() -> None:
        await asyncio.to_thread(stop, parts)
        if parts.runs is not None:
            await parts.runs.close()

    return _built(routers, parts.network, parts.metrics, close)


def create_gateway(gateway: Gateway) -> FastAPI:
    """The app of a server without a model."""
    routers = run_routers(gateway.runs, gateway.network)
    if gateway.sweeps is not None:
        routers += history_routers(gateway.sweeps, gateway.network)
    routers += [alive.routes(gateway), docs.routes(gateway), ui.routes(gateway)]
    return _built(routers, gateway.network, gateway.metrics, gateway.runs.close)


def history_routers(sweeps: Readable, network: Network) -> list[APIRouter]:
    """The one history: classic sweeps as their clients know them, all of them, what is said."""
    beat = network.heartbeat_seconds
    views = [history.routes(sweeps, view, beat) for view in (history.CLASSIC, history.GENERAL)]
    return [*views, history.remark_routes(sweeps)]


def run_routers(runs_hub: Hub, network: Network, split: Split | None = None) -> list[APIRouter]:
    """What is about run directories. `split` is a model's tokens of a text, where there is one."""
    asked = Analytics()
    return [
        runs.routes(runs_hub),
        stream.routes(runs_hub, network.heartbeat_seconds),
        features.routes(runs_hub),
        analytics.routes(runs_hub, asked),
        moments.routes(runs_hub, asked),
        run_page.routes(runs_hub, asked, split),
    ]


def _built(
    routers: list[APIRouter],
    network: Network,
    metrics: Metrics,
    close: Callable[[], Awaitable[None]],
) -> App:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await close()

    app = App(
        title="Sonde",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # those pages fetch scripts from elsewhere; see routes/docs.py
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=operation_id,
        dependencies=[Depends(refuse_unknown_parameters)],
    )
    for router in routers:
        app.include_router(router)
    add_error_handlers(app, ui.lost)
    app.add_middleware(Bodies, network=network)
    app.add_middleware(Gate, network=network)
    app.add_middleware(RequestLog, metrics=metrics)
    app.network = network
    return app


def stop(parts: Parts, seconds: float = STOP_SECONDS) -> None:
    """Let jobs finish or end them, then close the history. A second time it does nothing."""
    parts.engine.stop(seconds)
    parts.lanes.close()
    parts.sweeps.close()
