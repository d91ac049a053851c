"""Completions: OpenAI's route, with patches and captures."""

import asyncio

from fastapi import APIRouter, Request, Response

from sonde.schema import Completion, CompletionRequest
from sonde.server.completion.admit import admit_completion
from sonde.server.completion.respond import respond
from sonde.server.completion.text_shape import TextShape
from sonde.server.model_of import model_of
from sonde.server.parts import Parts


def routes(parts: Parts) -> APIRouter:
    """`/v1/completions`."""
    router = APIRouter(prefix="/v1", tags=["completions"])

    @router.post("/completions", operation_id="create_completion", response_model=Completion)
    async def complete(body: CompletionRequest, request: Request) -> Response:
        """Continue one prompt or several, with patches at prompt and generated positions.

        One JSON body, or with `stream` chunks as they come. It stops when the client leaves.
        """
        served = await model_of(request, parts.models, body.model)
        vectors = served.vectors.snapshot()
        asked = await asyncio.to_thread(
            admit_completion, body, served.backend, vectors, parts.limits
        )
        return await respond(parts, request, asked, TextShape(), served)

    return router
