"""What is graded: answers and foils of one or several tokens, one or several of each.

An answer of several tokens is graded by teacher forcing: the prompt goes on with the answer, and
each of its tokens is read after those before it. So every beginning that an answer has makes a
prompt of its own, a *variant*. Answers of one token have none, and share the prompt itself.

What a row tells is log-probabilities, wherever anything but a difference of logits is asked: a
difference needs no normaliser, and then only the few rows of the unembedding are computed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sonde.backends.base import Column, Quantity, Readout
from sonde.schema.sweep import MIN_GAP
from sonde.schema.table import TableMetric

Tokens = tuple[int, ...]
NEEDS_CLEAN: Final[frozenset[TableMetric]] = frozenset({"recovered", "kl_clean"})
WHOLE: Final[frozenset[TableMetric]] = frozenset({"kl_clean", "kl_corrupt", "rank", "top1"})
"""Metrics of the distribution after the prompt itself."""


@dataclass(frozen=True)
class Question:
    """What is asked of every row of a trial."""

    answers: tuple[Tokens, ...]
    foils: tuple[Tokens, ...]
    metrics: tuple[TableMetric, ...]
    corrupt: Tokens
    clean: Tokens | None

    @property
    def options(self) -> tuple[Tokens, ...]:
        """Answers, then foils."""
        return self.answers + self.foils

    @property
    def variants(self) -> list[Tokens]:
        """What the prompt goes on with: nothing, and the beginnings of longer answers."""
        begun = [option[:-1] for option in self.options]
        wanted = dict.fromkeys(begun)
        if WHOLE & set(self.metrics):
            wanted = dict.fromkeys([(), *begun])
        return list(wanted)

    def quantity(self, told: Sequence[Quantity]) -> Quantity:
        """`logit` where a difference is all that is wanted and the backend tells it."""
        single = all(len(option) == 1 for option in self.options)
        foil = bool(self.foils)
        plain = {"logit_diff", "recovered"} if foil else set()
        return "logit" if single and set(self.metrics) <= plain and "logit" in told else "logprob"

    def readout(self, variant: Tokens, n_tokens: int, told: Sequence[Quantity]) -> Readout:
        """What is read of a prompt of `n_tokens` that goes on with a variant."""
        quantity = self.quantity(told)
        columns = [
            Column(quantity, token, n_tokens - 1 + i)
            for option in self._of(variant)
            for i, token in enumerate(option)
        ]
        if variant == ():
            columns += [column for metric in self.metrics for column in self._whole(metric)]
        return Readout(tuple([_at_end(c, n_tokens + len(variant)) for c in columns]))

    def _of(self, variant: Tokens) -> list[Tokens]:
        return [option for option in dict.fromkeys(self.options) if option[:-1] == variant]

    def _whole(self, metric: TableMetric) -> list[Column]:
        if metric == "kl_corrupt":
            return [Column("kl", against=self.corrupt)]
        if metric == "kl_clean":
            assert self.clean is not None
            return [Column("kl", against=self.clean)]
        if metric in ("rank", "top1"):
            return [Column("rank", token) for (token, *_) in self.answers]
        return []

    def read(self, told: Sequence[Sequence[float]]) -> "Reading":
        """From what the readouts of all variants told, in their order."""
        scores: dict[Tokens, float] = {}
        whole: dict[TableMetric, list[float]] = {}
        for variant, values in zip(self.variants, told, strict=True):
            left = iter(values)
            for option in self._of(variant):
                scores[option] = sum([next(left) for _ in option])
            if variant == ():
                whole = {m: [next(left) for _ in self._whole(m)] for m in self.metrics}
        answer = _log_sum([scores[option] for option in self.answers])
        foil = _log_sum([scores[option] for option in self.foils]) if self.foils else None
        return Reading(answer, foil, whole)


def _at_end(column: Column, n_tokens: int) -> Column:
    """The last position by its usual name: what is read there costs the least."""
    if column.position != n_tokens - 1:
        return column
    return Column(column.quantity, column.token, -1, column.against)


def _log_sum(values: Sequence[float]) -> float:
    """The logarithm of the summed probabilities."""
    if len(values) == 1:
        return values[0]
    top = max(values)
    if not math.isfinite(top):
        return top
    return top + math.log(sum(math.exp(value - top) for value in values))


@dataclass(frozen=True)
class Reading:
    """What one row says of answer and foil."""

    answer: float
    """Log-probability; or, where only differences are asked for, the logit."""
    foil: float | None
    whole: dict[TableMetric, list[float]]

    @property
    def difference(self) -> float | None:
        """Answer over foil."""
        return None if self.foil is None else self.answer - self.foil


def mistake(right: Reading, wrong: Reading) -> str | None:
    """What the model gets wrong about a pair, or None.

    `right` is read after the prompt that should favour the answer, `wrong` after the other one.
    """
    good, bad = right.difference, wrong.difference
    if good is None or bad is None:
        if right.answer > wrong.answer:
            return None
        return "wrong: its answer is no likelier after the clean prompt than the corrupt one"
    if not good > 0:
        return f"wrong on clean: answer - foil is {good:.3g} there"
    return None if bad < 0 else f"right on corrupt: answer - foil is {bad:.3g} there"


@dataclass(frozen=True)
class Grades:
    """How readings become metrics; fixed before the first cell."""

    question: Question
    corrupt: Reading
    clean: Reading | None

    def of(self, metric: TableMetric, reading: Reading) -> float | None:
        """One metric of one row; None when it is not a finite number."""
        out = self._of(metric, reading)
        return out if out is not None and math.isfinite(out) else None

    def _of(self, metric: TableMetric, reading: Reading) -> float | None:
        if metric == "logprob":
            return reading.answer
        if metric == "prob":
            return math.exp(reading.answer)
        if metric == "logit_diff":
            return reading.difference
        if metric == "recovered":
            return self._recovered(reading)
        told = reading.whole.get(metric, [])
        if not told:
            return None
        return float(min(told) == 0) if metric == "top1" else min(told)

    def _recovered(self, reading: Reading) -> float | None:
        if self.clean is None or self.why_no_recovery() is not None:
            return None
        zero, one = self.base(self.corrupt), self.base(self.clean)
        return (self.base(reading) - zero) / (one - zero)

    def base(self, reading: Reading) -> float:
        """What `recovered` is a share of."""
        difference = reading.difference
        return reading.answer if difference is None else difference

    def why_no_recovery(self) -> str | None:
        """Why `recovered` has no meaning here; None when it has."""
        if self.clean is None:
            return "'recovered' is null: it needs a clean prompt; name one, or use another metric"
        zero, one = self.base(self.corrupt), self.base(self.clean)
        if not math.isfinite(one):
            return "'recovered' is null: the clean prompt's answer is not a finite number"
        if abs(one - zero) < MIN_GAP:
            return (
                f"'recovered' is null: it divides by clean - corrupt, and they are {one:.6g} and "
                f"{zero:.6g}; choose prompts whose answers differ, or use another metric"
            )
        return None

    def scale(self, metric: TableMetric) -> float:
        """What a difference of `base` is divided by to be in the metric's units."""
        if metric != "recovered" or self.clean is None or self.why_no_recovery() is not None:
            return 1.0
        return abs(self.base(self.clean) - self.base(self.corrupt))
