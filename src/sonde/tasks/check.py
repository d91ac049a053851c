"""What a model makes of pairs: both prompts, unpatched, side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from sonde.backends.base import Backend, Readout
from sonde.engine.answers import Question, Reading, mistake
from sonde.errors import BadRequest
from sonde.schema.pair import PromptPair
from sonde.schema.prompt import Answers, Prompt
from sonde.schema.table import TableMetric
from sonde.tasks.fitness import listed, trouble

AT_ONCE = 2048
"""Tokens that are run side by side."""


class Loaded(Protocol):
    """A loaded model, as `sonde.load` gives it."""

    @property
    def backend(self) -> Backend:
        """What computes."""
        ...


@dataclass(frozen=True)
class Verdict:
    """One pair: answer over foil after either prompt, and why it is of no use, if it is not.

    Without a foil the log-probability of the answer. None where nothing could be run.
    """

    clean: float | None
    corrupt: float | None
    reason: str | None


@dataclass(frozen=True)
class _PairRuns:
    """A pair's question, and what is run to answer it."""

    number: int
    question: Question
    runs: list[tuple[Sequence[int], Readout]]
    """Every variant of the clean prompt, then of the corrupt one."""

    @property
    def tokens(self) -> int:
        return sum(len(tokens) for tokens, _ in self.runs)


def verdicts(pairs: Sequence[PromptPair], backend: Backend, *, one_token: bool) -> list[Verdict]:
    """One for every pair, in their order."""
    found: dict[int, Verdict] = {}
    asked = []
    for number, pair in enumerate(pairs):
        try:
            asked.append(_pair_runs(number, pair, backend, one_token))
        except BadRequest as error:
            found[number] = Verdict(None, None, str(error))
    for some in _batches(asked):
        told = iter(backend.baselines([run for each in some for run in each.runs], ()))
        for each in some:
            half = len(each.runs) // 2
            clean, corrupt = (each.question.read([next(told) for _ in range(half)]) for _ in "ab")
            found[each.number] = _verdict(clean, corrupt)
    return [found[number] for number in range(len(pairs))]


def _pair_runs(number: int, pair: PromptPair, backend: Backend, one_token: bool) -> _PairRuns:
    if why := trouble(pair):
        raise BadRequest(why)
    clean, corrupt = (tuple(_tokens(backend, prompt)) for prompt in (pair.clean, pair.corrupt))
    answers = _options(backend, "answer", pair.answer, one_token)
    foils = _options(backend, "foil", pair.foil, one_token)
    metric: TableMetric = "logit_diff" if foils else "logprob"
    question = Question(answers, foils, (metric,), corrupt, clean)
    told = backend.quantities()
    runs: list[tuple[Sequence[int], Readout]] = [
        ([*tokens, *variant], question.readout(variant, len(tokens), told))
        for tokens in (clean, corrupt)
        for variant in question.variants
    ]
    return _PairRuns(number, question, runs)


def _tokens(backend: Backend, prompt: Prompt) -> list[int]:
    found = backend.tokenize(prompt) if isinstance(prompt, str) else prompt
    most = backend.describe().max_tokens
    if len(found) > most:
        raise BadRequest(f"a prompt of {len(found)} tokens; the model takes {most}")
    return list(found)


def _options(
    backend: Backend, what: str, given: Answers | None, one_token: bool
) -> tuple[tuple[int, ...], ...]:
    found = []
    for one in listed(given):
        tokens = (one,) if isinstance(one, int) else tuple(backend.tokenize(one, special=False))
        if not tokens or (one_token and len(tokens) > 1):
            split = "|".join(backend.detokenize([token]) for token in tokens)
            raise BadRequest(f"{what} {one!r} is {len(tokens)} tokens, {split!r}, and one is asked")
        found.append(tokens)
    return tuple(found)


def _batches(asked: Sequence[_PairRuns]) -> Iterator[list[_PairRuns]]:
    """Pairs of about one length together, and so many that weights are worth reading."""
    batch: list[_PairRuns] = []
    for each in sorted(asked, key=lambda one: one.tokens):
        if batch and sum(one.tokens for one in batch) + each.tokens > AT_ONCE:
            yield batch
            batch = []
        batch.append(each)
    if batch:
        yield batch


def _verdict(clean: Reading, corrupt: Reading) -> Verdict:
    good, bad = clean.difference, corrupt.difference
    if good is None or bad is None:
        good, bad = clean.answer, corrupt.answer
    return Verdict(good, bad, mistake(clean, corrupt))
