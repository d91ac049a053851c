"""Numbers people read: metrics of a cell, extremes of a grid."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sonde.schema import Extreme, Grid, Metric
from sonde.schema.sweep import MIN_GAP


@dataclass(frozen=True)
class Grading:
    """How log-probabilities of (answer, foil) become each metric; fixed before the first cell."""

    corrupt: float
    """Answer log-probability of the unpatched corrupt prompt."""
    clean: float | None
    """Answer log-probability of the clean prompt, when known."""

    def why_no_recovery(self) -> str | None:
        """Why `recovered` has no meaning here; None when it has."""
        if self.clean is None:
            return (
                "'recovered' is null: it needs a clean baseline; "
                "pass clean_prompt or clean_baseline, or use metric 'logprob'"
            )
        if not math.isfinite(self.clean):
            return "'recovered' is null: the clean answer's log-probability is not a finite number"
        if abs(self.clean - self.corrupt) < MIN_GAP:
            return (
                f"'recovered' is null: it divides by clean - corrupt, and they are "
                f"{self.clean:.6g} and {self.corrupt:.6g}; choose prompts whose answers differ, "
                "or use metric 'logprob'"
            )
        return None

    def value(self, metric: Metric, logprobs: Sequence[float]) -> float | None:
        """One metric of one run; None when it is not a finite number."""
        answer = logprobs[0]
        if metric == "logprob":
            out = answer
        elif metric == "logit_diff":
            out = answer - logprobs[1]
        elif self.clean is None or self.why_no_recovery() is not None:
            return None
        else:
            out = (answer - self.corrupt) / (self.clean - self.corrupt)
        return out if math.isfinite(out) else None

    def scale(self, metric: Metric) -> float:
        """What a difference of log-probabilities is divided by to be in the metric's units."""
        if metric != "recovered" or self.clean is None or self.why_no_recovery() is not None:
            return 1.0
        return abs(self.clean - self.corrupt)


def extreme(
    grid: Grid, layers: Sequence[int], positions: Sequence[int], sign: int
) -> Extreme | None:
    """The largest (`sign` 1) or smallest (−1) value; ties go to the first in row-major order."""
    best: Extreme | None = None
    for layer, row in zip(layers, grid, strict=True):
        for position, value in zip(positions, row, strict=True):
            if value is not None and (best is None or sign * value > sign * best.value):
                best = Extreme(layer=layer, position=position, value=value)
    return best
