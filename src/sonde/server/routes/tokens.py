"""Text to tokens and back, at the root and without a key: clients ask here without one."""

import asyncio

from fastapi import APIRouter

from sonde.backends.base import Backend
from sonde.errors import BadRequest
from sonde.schema import DetokenizeRequest, Text, TokenizeRequest, Tokens
from sonde.server.completion.admit import check_model
from sonde.server.completion.blame import blaming
from sonde.server.completion.chat_prompt import chat_tokens
from sonde.server.completion.decoding import InnerText
from sonde.server.completion.fields import refuse_message_fields
from sonde.server.parts import Parts
from sonde.server.run_tokens import Split


def routes(parts: Parts) -> APIRouter:
    """`/tokenize` and `/detokenize`."""
    router = APIRouter(tags=["tokens"])
    inner = InnerText(parts.backend)

    @router.post("/tokenize", operation_id="tokenize")
    async def tokenize(body: TokenizeRequest) -> Tokens:
        """Token ids of a text, or of a conversation as the chat template writes it."""
        return await asyncio.to_thread(_tokenize, body, parts, inner)

    @router.post("/detokenize", operation_id="detokenize")
    async def detokenize(body: DetokenizeRequest) -> Text:
        """Text of token ids; special tokens have none."""
        return await asyncio.to_thread(_detokenize, body, parts)

    return router


def splitter(backend: Backend) -> Split:
    """What gives the texts of a completion's tokens, as they follow its prompt."""
    inner = InnerText(backend)
    return lambda text: [inner.of([token]) for token in backend.tokenize(text, special=False)]


def _tokenize(body: TokenizeRequest, parts: Parts, inner: InnerText) -> Tokens:
    model = parts.backend.describe()
    check_model(body.model, model)
    tokens = _ids(body, parts)
    return Tokens(
        count=len(tokens),
        max_model_len=model.max_tokens,
        tokens=tokens,
        token_strs=[inner.of([token]) for token in tokens] if body.return_token_strs else None,
    )


def _ids(body: TokenizeRequest, parts: Parts) -> list[int]:
    if (body.prompt is None) == (body.messages is None):
        with blaming("prompt"):
            raise BadRequest("give exactly one of prompt and messages")
    if body.messages is not None:
        return _chat(body, parts)
    assert body.prompt is not None
    with blaming("prompt"):
        if len(body.prompt) > parts.limits.prompt_chars:
            raise BadRequest(
                f"a prompt of {len(body.prompt)} characters; at most {parts.limits.prompt_chars}"
            )
        return parts.backend.tokenize(body.prompt, special=body.add_special_tokens is not False)


def _chat(body: TokenizeRequest, parts: Parts) -> list[int]:
    assert body.messages is not None
    refuse_message_fields(body.messages)
    if body.add_special_tokens:
        with blaming("add_special_tokens"):
            raise BadRequest("a chat template writes its own special tokens; leave it out")
    with blaming("messages"):
        return chat_tokens(
            body.messages,
            parts.backend,
            parts.limits,
            generation_prompt=body.add_generation_prompt,
        )


def _detokenize(body: DetokenizeRequest, parts: Parts) -> Text:
    model = parts.backend.describe()
    check_model(body.model, model)
    with blaming("tokens"):
        for token in body.tokens:
            if not 0 <= token < model.vocabulary:
                raise BadRequest(
                    f"token id {token} is outside the vocabulary [0, {model.vocabulary})"
                )
    return Text(prompt=parts.backend.detokenize(body.tokens))
