"""What heads attend to in one prompt. Run by the engine's thread, between the turns of others."""

import asyncio

from fastapi import APIRouter, Request, Response

from sonde.backends.base import Backend
from sonde.engine.attention import told
from sonde.errors import RequestTooLarge
from sonde.model import Model
from sonde.results import Attention
from sonde.schema.attention import AttentionRequest, AttentionTable
from sonde.server.leaving import unless_gone
from sonde.server.model_of import model_of
from sonde.server.parts import Parts
from sonde.server.pool import ServedModel

MOST_NUMBERS = 4_000_000
"""In one answer, which is some ten bytes of JSON for each."""


def routes(parts: Parts) -> APIRouter:
    """The route `/v1/attention`."""
    router = APIRouter(prefix="/v1/attention", tags=["attention"])
    models, limits = parts.models, parts.limits

    def check(body: AttentionRequest, backend: Backend) -> None:
        n = told(backend, body, limits)
        if n > MOST_NUMBERS:
            raise RequestTooLarge(
                f"an answer of {n:,} numbers", 4 * n, 4 * MOST_NUMBERS,
                "name fewer layers or heads, or ask for scores",
            )  # fmt: skip

    @router.post("", operation_id="attention", response_model=AttentionTable)
    async def attention(body: AttentionRequest, request: Request) -> Response:
        """What heads attend to in a prompt: patterns, or with `scores` three numbers a head."""
        served = await model_of(request, models, body.model)
        await asyncio.to_thread(check, body, served.backend)

        def attend(now: ServedModel) -> Attention:
            return Model(now.backend, limits=limits).attend(body)

        found = await unless_gone(request, models.call(served.source, attend))
        text = await asyncio.to_thread(lambda: found.table().model_dump_json())
        return Response(text, media_type="application/json")

    return router
