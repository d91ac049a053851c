"""Text to tokens, asked of the server: the client has no tokenizer, and must not guess at one.

When `/tokenize` does not answer, that is an error. Grading by likeness of strings instead, or by
whatever is among the likeliest tokens, would give numbers that look the same and are not.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Literal

import httpx

from sonde.client.http import Connection, decoded
from sonde.client.together import together
from sonde.errors import BadRequest
from sonde.prompts import Span, offsets_by_decoding, resolve_positions
from sonde.schema import Position, Positions, SpanPosition

AT_ONCE = 16

PositionLike = int | str | Span | SpanPosition
PositionsLike = Iterable[PositionLike] | Literal["all_prompt"]
"""Positions as a study takes them: numbers, spans, words (taken as spans), or all there are."""


def wire_positions(positions: PositionsLike) -> Positions:
    """Positions as a request takes them."""
    if positions == "all_prompt":
        return "all_prompt"
    if isinstance(positions, str):
        raise ValueError(f"positions {positions!r}: write 'all_prompt', or a list: [{positions!r}]")
    return [wire_position(place) for place in positions]


def wire_position(place: PositionLike) -> Position:
    """One position as a request takes it."""
    if isinstance(place, str):
        place = Span(place)
    return place.to_wire() if isinstance(place, Span) else place


class Tokenizer:
    """The server's tokenizer for one model."""

    def __init__(self, connection: Connection, model: str) -> None:
        self._connection = connection
        self._model = model
        self._known: dict[tuple[str, bool], list[int]] = {}

    async def tokens(self, text: str, *, special: bool = True) -> list[int]:
        """Token ids; `special` adds those that the tokenizer adds by default."""
        if (text, special) not in self._known:
            body = {"model": self._model, "prompt": text, "add_special_tokens": special}
            self._known[text, special] = (await self._ask("/tokenize", body))["tokens"]
        return self._known[text, special]

    async def text(self, tokens: Sequence[int]) -> str:
        """The text of ids; special tokens have none."""
        body = {"model": self._model, "tokens": list(tokens)}
        return str((await self._ask("/detokenize", body))["prompt"])

    async def one_token(self, field: str, text: str) -> int:
        """The id of a text that is exactly one token."""
        tokens = await self.tokens(text, special=False)
        if len(tokens) != 1:
            raise ValueError(
                f"{field} {text!r} tokenizes to {len(tokens)} tokens {tokens}; "
                "choose a one-token word (a leading space often matters)"
            )
        return tokens[0]

    async def positions(self, prompt: str, positions: Positions) -> list[int]:
        """Positions as numbers, spans resolved as a sweep on the server resolves them."""
        tokens = await self.tokens(prompt)
        if not any(isinstance(place, SpanPosition) for place in positions):
            offsets = [(0, 0)] * len(tokens)
        else:
            prompt, offsets = await self._offsets(tokens)
        try:
            return resolve_positions(positions, prompt=prompt, offsets=offsets)
        except BadRequest as error:
            raise ValueError(str(error)) from error

    async def _offsets(self, tokens: Sequence[int]) -> tuple[str, list[tuple[int, int]]]:
        """The decoded prompt, and which of its characters each token covers."""
        wanted = {tuple(tokens[: n + 1]) for n in range(len(tokens))}
        wanted |= {(token,) for token in tokens} | {tuple(tokens)}
        asked = sorted(wanted)
        answers = await together([partial(self.text, part) for part in asked], AT_ONCE)
        texts = dict(zip(asked, answers, strict=True))
        offsets = offsets_by_decoding(tokens, lambda part: texts[tuple(part)])
        return texts[tuple(tokens)], offsets

    async def _ask(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        field = "tokens" if path == "/tokenize" else "prompt"
        try:
            answer = decoded(await self._connection.ask_root(path, body))
            return {field: answer[field]}
        except (httpx.HTTPError, LookupError) as error:
            raise RuntimeError(
                f"{path} failed, and without it neither spans nor answers can be turned into "
                f"tokens: {error}"
            ) from error
