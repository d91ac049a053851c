"""What an engineer looks for first, a line a step: `telemetry.jsonl`.

Two halves: what the sidecar counts itself, when a step is done; and what only the trainer knows,
when it logs that step. A trainer that does not log every step leaves the second half null in the
others. Nothing is computed anew, and nothing is asked of the trainer but what it logs anyway.
"""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

import numpy as np

from sonde.schema.records import Telemetry
from sonde.training.pieces import Sample
from sonde.training.steps import finite

QUANTILES: Final = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
PACE: Final = 8
"""So many of the last steps say how long the rest will take."""

LOGGED: Final = {
    "kl": "kl",
    "loss": "policy_loss",
    "entropy": "entropy",
    "grad_norm": "grad_norm",
    "learning_rate": "learning_rate",
}
"""What TRL and transformers call it, and what it is called here."""


@dataclass(frozen=True)
class Moments:
    """When a step was done, by the clock on the wall and by one that is never set back."""

    time: float
    ticks: float


class Meter:
    """Puts the two halves of a step together."""

    def __init__(self, run_id: str, max_steps: int | None, begun: float) -> None:
        """`begun` is when the trainer began, in ticks."""
        self._run_id, self._max_steps, self._last = run_id, max_steps, begun
        self._paces: deque[float] = deque(maxlen=PACE)
        self._waiting: Telemetry | None = None

    def done(self, step: int, at: Moments, samples: Sequence[Sample]) -> Telemetry | None:
        """A step is done. -> the line of the one before, if the trainer has not logged that"""
        before, seconds = self._waiting, at.ticks - self._last
        self._last = at.ticks
        self._paces.append(seconds)
        n = len(samples)
        tokens = sum(sample.prompt_tokens + sample.completion_tokens for sample in samples)
        rewards = [value for sample in samples if (value := finite(sample.reward)) is not None]
        self._waiting = Telemetry(
            run_id=self._run_id,
            step=step,
            time=at.time,
            completion_length=sum(s.completion_tokens for s in samples) / n if n else None,
            truncated_share=sum(s.truncated for s in samples) / n if n else None,
            tokens_per_second=tokens / seconds if n and seconds > 0 else None,
            step_seconds=seconds,
            seconds_left=self._left(step),
            reward_quantiles=np.quantile(rewards, QUANTILES).tolist() if rewards else None,
        )
        return before

    def logged(self, step: int, numbers: Mapping[str, Any]) -> Telemetry | None:
        """The trainer logs a step. -> its line; None where it is not the one that waits"""
        line, known = self._waiting, {}
        for theirs, ours in LOGGED.items():
            value = numbers.get(theirs)
            if isinstance(value, int | float) and math.isfinite(value):
                known[ours] = float(value)
        if line is None or line.step != step or not known:
            return None
        self._waiting = None
        return line.model_copy(update=known)

    def rest(self) -> Telemetry | None:
        """The line that still waits, when there will be no more."""
        line, self._waiting = self._waiting, None
        return line

    def _left(self, step: int) -> float | None:
        if self._max_steps is None or self._max_steps <= 0:
            return None
        return max(0, self._max_steps - step) * median(self._paces)
