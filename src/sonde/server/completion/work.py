"""A completion as a job: capture, then one choice after another, a token at a time.

Runs on the engine's thread and yields after every token, so that other jobs have their turns and a
client that leaves costs one token at most.
"""

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, cast

from sonde.backends.base import Backend, GeneratedToken, GenerateRequest
from sonde.backends.spots import spots
from sonde.errors import HookNeverFired
from sonde.schema import FinishReason, SourceRun
from sonde.server.completion.admit import AdmittedRequest, Prompt
from sonde.server.completion.decoding import Decoder, InnerText, StopStrings
from sonde.server.completion.naming import TokenNames
from sonde.server.completion.showing import (
    PromptShown,
    TokenShown,
    prompt_shown,
    token_shown,
)


@dataclass(frozen=True)
class ChoiceDelta:
    """What one token, or the end, adds to a choice."""

    index: int
    text: str = ""
    shown: TokenShown | None = None
    generated: int = 0
    finish: FinishReason | None = None
    reason: str | int | None = None
    """With an end: the stop string or the named stop token that made it."""
    prompt: PromptShown | None = None
    """Log-probabilities of the prompt, in the first piece of a choice if they were asked for."""


CompletionItem = ChoiceDelta | SourceRun


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


def complete(backend: Backend, asked: AdmittedRequest, speech: Speech) -> Iterator[CompletionItem]:
    """All choices, prompt by prompt."""
    plan = asked.capture
    if plan is not None:
        tokens = asked.prompts[0].tokens
        yield backend.capture(plan.run, tokens, plan.hooks, plan.layers, plan.positions)
    for k, prompt in enumerate(asked.prompts):
        known: PromptShown | None = None
        for i in range(k * asked.n, (k + 1) * asked.n):
            asked.lease(backend)  # again for each choice: they may wait for one another
            known = yield from _choice(backend, asked, prompt, i, speech, known)


def _choice(
    backend: Backend,
    asked: AdmittedRequest,
    prompt: Prompt,
    index: int,
    speech: Speech,
    known: PromptShown | None,
) -> Generator[ChoiceDelta, None, PromptShown | None]:
    """One choice. -> what is shown of its prompt, for the next: it is computed once."""
    ending = asked.ending
    decoder = Decoder(speech.text, prompt.tokens)
    stops = StopStrings(ending.strings, included=ending.included)
    wanted = asked.scoring.most is not None and known is None
    if not wanted and (prompt.text or known is not None):
        yield ChoiceDelta(index, prompt.text, prompt=known)
    offset, count, last = len(prompt.text), 0, -1
    for made in _tokens(backend, asked, prompt, index, scored=wanted):
        if wanted and known is None:
            known = prompt_shown(prompt, made.prompt, asked.scoring, speech.names)
            yield ChoiceDelta(index, prompt.text, prompt=known)
        if not asked.sampling.max_tokens:
            continue
        count, last = count + 1, made.token
        skipped = last in ending.ids and not ending.included
        fresh = "" if skipped else decoder.push(last)
        shown = token_shown(made, fresh, offset, speech.names) if asked.shown.wanted else None
        offset += len(fresh)
        yield ChoiceDelta(
            index, stops.push(fresh, may_end=count > ending.min_tokens), shown, generated=1
        )
        if stops.found is not None:
            _check_reached(asked, len(prompt.tokens), count)
            break
    text = stops.push(decoder.finish(), may_end=count > ending.min_tokens) + stops.finish()
    ended = last in ending.ids or stops.found is not None
    reason = stops.found or (last if last in ending.named else None)
    yield ChoiceDelta(index, text, finish="stop" if ended else "length", reason=reason)
    return known


def _tokens(
    backend: Backend, asked: AdmittedRequest, prompt: Prompt, index: int, *, scored: bool
) -> Iterator[GeneratedToken]:
    """The tokens of a choice. A prompt that is `scored` comes with one, also if none is wanted."""
    sampling, ending = asked.sampling, asked.ending
    if not (sampling.max_tokens or scored):
        return
    request = GenerateRequest(
        prompt.tokens,
        max_tokens=max(sampling.max_tokens, 1),
        writes=asked.writes,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        seed=_seed(sampling.seed, index),
        stop_ids=ending.ids,
        logprob_ids=asked.shown.ids,
        top_logprobs=asked.shown.likeliest,
        top_k=sampling.top_k,
        min_p=sampling.min_p,
        min_tokens=ending.min_tokens,
        repetition_penalty=sampling.repetition_penalty,
        prompt_logprobs=asked.scoring.most if scored else None,
    )
    work = cast(Generator[GeneratedToken, Any, None], backend.generate(request))
    with closing(work):
        yield from work


def _seed(seed: int, index: int) -> int:
    """Each choice draws on its own; within 64 bits, signed."""
    return (seed + index + 2**63) % 2**64 - 2**63


def _check_reached(asked: AdmittedRequest, n_tokens: int, count: int) -> None:
    """A stop string ended the choice: the backend could not see whether all patches were made."""
    last = n_tokens + count - 2
    for spot in spots(asked.writes):
        if spot.position > last:
            raise HookNeverFired(
                f"a stop string ended the completion after {count} tokens, before position "
                f"{spot.position} was computed; the patch there did nothing"
            )
