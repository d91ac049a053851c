"""A completion as a job: capture, then one choice after another, a token at a time.

Runs on the engine's thread and yields after every token, so that other jobs have their turns and a
client that leaves costs one token at most.
"""

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, cast

from sonde.backends.base import Backend, GeneratedToken, GenerateRequest
from sonde.errors import HookNeverFired
from sonde.schema import FinishReason, SourceRun
from sonde.server.completion.admit import Asked, Prompt
from sonde.server.completion.decoding import Decoder, InnerText, StopStrings
from sonde.server.completion.naming import Named, TokenNames


@dataclass(frozen=True)
class TokenShown:
    """One generated token with the log-probabilities that were asked for."""

    chosen: Named
    others: tuple[Named, ...]
    """The chosen token among the likeliest ones, or among the ones asked for; likeliest first."""
    offset: int
    """Where its text begins in the choice's."""


@dataclass(frozen=True)
class Piece:
    """What one token, or the end, adds to a choice."""

    index: int
    text: str = ""
    shown: TokenShown | None = None
    generated: int = 0
    finish: FinishReason | None = None


Made = Piece | SourceRun


@dataclass(frozen=True)
class Speech:
    """What turns a model's tokens into text; made once for a server."""

    text: InnerText
    names: TokenNames

    @classmethod
    def of(cls, backend: Backend) -> "Speech":
        """For a backend's tokenizer."""
        text = InnerText(backend)
        return cls(text, TokenNames(text))


def complete(backend: Backend, asked: Asked, speech: Speech) -> Iterator[Made]:
    """All choices, prompt by prompt."""
    plan = asked.capture
    if plan is not None:
        tokens = asked.prompts[0].tokens
        yield backend.capture(plan.run, tokens, plan.hooks, plan.layers, plan.positions)
    for k, prompt in enumerate(asked.prompts):
        for i in range(k * asked.n, (k + 1) * asked.n):
            asked.lease(backend)  # again for each choice: they may wait for one another
            yield from _choice(backend, asked, prompt, i, speech)


def _choice(
    backend: Backend, asked: Asked, prompt: Prompt, index: int, speech: Speech
) -> Iterator[Piece]:
    decoder = Decoder(speech.text, prompt.tokens)
    stops = StopStrings(asked.sampling.stops)
    if prompt.text:
        yield Piece(index, prompt.text)
    offset, count, ended = len(prompt.text), 0, False
    for made in _tokens(backend, asked, prompt, index):
        fresh = decoder.push(made.token)
        shown = _shown(made, fresh, offset, speech.names) if asked.shown.wanted else None
        offset, count = offset + len(fresh), count + 1
        ended = made.token in asked.model.end_ids
        yield Piece(index, stops.push(fresh), shown, generated=1)
        if stops.found:
            _check_reached(asked, len(prompt.tokens), count)
            break
    text = stops.push(decoder.finish()) + stops.finish()
    yield Piece(index, text, finish="stop" if ended or stops.found else "length")


def _tokens(backend: Backend, asked: Asked, prompt: Prompt, index: int) -> Iterator[GeneratedToken]:
    sampling = asked.sampling
    if not sampling.max_tokens:
        return
    request = GenerateRequest(
        prompt.tokens,
        max_tokens=sampling.max_tokens,
        patches=asked.patches,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        seed=_seed(sampling.seed, index),
        stop_ids=frozenset(asked.model.end_ids),
        logprob_ids=asked.shown.ids,
        top_logprobs=asked.shown.likeliest,
    )
    work = cast(Generator[GeneratedToken, Any, None], backend.generate(request))
    with closing(work):
        yield from work


def _seed(seed: int, index: int) -> int:
    """Each choice draws on its own; within 64 bits, signed."""
    return (seed + index + 2**63) % 2**64 - 2**63


def _shown(made: GeneratedToken, fresh: str, offset: int, names: TokenNames) -> TokenShown:
    """A token that brought `fresh` text: its own, and before it what it did not complete."""
    others = names.ranked({**made.logprobs, made.token: made.logprob})
    chosen = next(named for named in others if named.token == made.token)
    if chosen.text and fresh.endswith(chosen.text):
        offset += len(fresh) - len(chosen.text)
    return TokenShown(chosen, tuple(others), offset)


def _check_reached(asked: Asked, n_tokens: int, count: int) -> None:
    """A stop string ended the choice: the backend could not see whether all patches were made."""
    last = n_tokens + count - 2
    for patch in asked.patches:
        if patch.position > last:
            raise HookNeverFired(
                f"a stop string ended the completion after {count} tokens, before position "
                f"{patch.position} was computed; the patch there did nothing"
            )
