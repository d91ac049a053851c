"""Text to tokens and back, at the root and without a key: clients ask here without one.

So it is done on threads of their own (`lanes`), and a caller without the key of a server that
has one may ask for little at a time (`Network.keyless_body_bytes`).
"""

from collections.abc import Callable

from fastapi import APIRouter, Request, Response

from sonde.backends.base import Backend
from sonde.engine import Limits
from sonde.errors import BadRequest
from sonde.schema import DetokenizeRequest, Text, TokenizeRequest, Tokens
from sonde.schema.base import Wire
from sonde.server.completion.blame import blaming
from sonde.server.completion.chat_prompt import chat_tokens
from sonde.server.completion.decoding import InnerText
from sonde.server.completion.fields import refuse_message_fields
from sonde.server.leaving import unless_gone
from sonde.server.model_of import model_of
from sonde.server.parts import KEYED, Parts
from sonde.server.pool import ServedModel
from sonde.server.run_tokens import Split


def routes(parts: Parts) -> APIRouter:
    """`/tokenize` and `/detokenize`."""
    router = APIRouter(tags=["tokens"])

    @router.post("/tokenize", operation_id="tokenize", response_model=Tokens)
    async def tokenize(body: TokenizeRequest, request: Request) -> Response:
        """Token ids of a text, or of a conversation as the chat template writes it."""
        served = await wanted(request, body.model)
        return await answered(request, lambda: _tokenize(body, served, parts.limits))

    @router.post("/detokenize", operation_id="detokenize", response_model=Text)
    async def detokenize(body: DetokenizeRequest, request: Request) -> Response:
        """Text of token ids; special tokens have none."""
        served = await wanted(request, body.model)
        return await answered(request, lambda: _detokenize(body, served.backend))

    async def wanted(request: Request, name: str | None) -> ServedModel:
        """Whose tokens. To have a model loaded takes the key, where there is one."""
        if not request.scope.get(KEYED, True):
            return parts.models.find_loaded(name)
        return await model_of(request, parts.models, name)

    async def answered(request: Request, work: Callable[[], Wire]) -> Response:
        """Made, and written out, in the caller's lane: a million ids take a while."""
        lane = parts.lanes.of(keyed=request.scope.get(KEYED, True))
        text = await unless_gone(request, lane.call(lambda: work().model_dump_json()))
        return Response(text, media_type="application/json")

    return router


def splitter(backend: Backend) -> Split:
    """What gives the texts of a completion's tokens, as they follow its prompt."""
    inner = InnerText(backend)
    return lambda text: [inner.of([token]) for token in backend.tokenize(text, special=False)]


def _tokenize(body: TokenizeRequest, served: ServedModel, limits: Limits) -> Tokens:
    model, inner = served.backend.describe(), served.speech.text
    tokens = _ids(body, served.backend, limits)
    strings = None
    if body.return_token_strs:
        each = {token: inner.of([token]) for token in set(tokens)}
        strings = [each[token] for token in tokens]
    return Tokens(
        count=len(tokens), max_model_len=model.max_tokens, tokens=tokens, token_strs=strings
    )


def _ids(body: TokenizeRequest, backend: Backend, limits: Limits) -> list[int]:
    if (body.prompt is None) == (body.messages is None):
        with blaming("prompt"):
            raise BadRequest("give exactly one of prompt and messages")
    if body.messages is not None:
        return _chat(body, backend, limits)
    assert body.prompt is not None
    with blaming("prompt"):
        if len(body.prompt) > limits.prompt_chars:
            raise BadRequest(
                f"a prompt of {len(body.prompt)} characters; at most {limits.prompt_chars}"
            )
        return backend.tokenize(body.prompt, special=body.add_special_tokens is not False)


def _chat(body: TokenizeRequest, backend: Backend, limits: Limits) -> list[int]:
    assert body.messages is not None
    refuse_message_fields(body.messages)
    if body.add_special_tokens:
        with blaming("add_special_tokens"):
            raise BadRequest("a chat template writes its own special tokens; leave it out")
    with blaming("messages"):
        return chat_tokens(
            body.messages,
            backend,
            limits,
            generation_prompt=body.add_generation_prompt,
            continue_final=body.continue_final_message,
        )


def _detokenize(body: DetokenizeRequest, backend: Backend) -> Text:
    model = backend.describe()
    with blaming("tokens"):
        for token in body.tokens:
            if not 0 <= token < model.vocabulary:
                raise BadRequest(
                    f"token id {token} is outside the vocabulary [0, {model.vocabulary})"
                )
    return Text(prompt=backend.detokenize(body.tokens))
