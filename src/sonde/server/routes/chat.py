"""Chat completions: OpenAI's route, text only, with patches and captures."""

import asyncio

from fastapi import APIRouter, Request, Response

from sonde.schema import ChatCompletion, ChatRequest
from sonde.server.completion.admit import admit_chat
from sonde.server.completion.chat_shape import ChatShape
from sonde.server.completion.respond import respond
from sonde.server.model_of import model_of
from sonde.server.parts import Parts


def routes(parts: Parts) -> APIRouter:
    """`/v1/chat/completions`."""
    router = APIRouter(prefix="/v1/chat", tags=["completions"])

    @router.post(
        "/completions", operation_id="create_chat_completion", response_model=ChatCompletion
    )
    async def chat(body: ChatRequest, request: Request) -> Response:
        """Answer a conversation, as the model's chat template writes it.

        One JSON body, or with `stream` chunks as they come. It stops when the client leaves.
        """
        served = await model_of(request, parts.models, body.model)
        vectors = served.vectors.snapshot()
        asked = await asyncio.to_thread(admit_chat, body, served.backend, vectors, parts.limits)
        return await respond(parts, request, asked, ChatShape(), served)

    return router
