"""Early warnings: what makes a run pointless long before it ends.

Each is a condition that held for several steps in a row. It is told once when it begins, and stays
in the health lines while it lasts.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from sonde.schema.records import LayerHealth
from sonde.training.pieces import Sample

STEPS: Final = 3
"""How many steps in a row make a warning."""
GATE_STEPS: Final = 5
"""The gate may be shut for a while at first."""
NO_ADVANTAGE: Final = 1e-6
DRIFT: Final = 1.5
"""How many times its first value FVU may grow to, and by at least `DRIFT_LEAST`."""
DRIFT_LEAST: Final = 0.05
DRIFT_TOKENS: Final = 30
"""Fewer tokens say nothing about a dictionary."""


@dataclass
class _Fit:
    """FVU of one layer: what it was at first and what it is now, each over some tokens."""

    first: float | None = None
    first_tokens: int = 0
    recent: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=STEPS))

    def add(self, fvu: float, tokens: int) -> None:
        if self.first_tokens < DRIFT_TOKENS:
            total = self.first_tokens + tokens
            self.first = ((self.first or 0.0) * self.first_tokens + fvu * tokens) / total
            self.first_tokens = total
        else:
            self.recent.append((fvu, tokens))

    @property
    def now(self) -> float | None:
        tokens = sum(count for _, count in self.recent)
        if len(self.recent) < STEPS or tokens < DRIFT_TOKENS:
            return None
        return sum(fvu * count for fvu, count in self.recent) / tokens


class Alarms:
    """Looks at every step. `standing` are the warnings that hold now."""

    def __init__(self) -> None:
        self.standing: list[str] = []
        self._rewards: list[str] = []
        self._in_a_row: dict[str, int] = {}
        self._gate_passed = False
        self._gate_steps = 0
        self._fits: dict[int, _Fit] = {}

    def look(
        self,
        samples: Sequence[Sample],
        layers: Sequence[LayerHealth],
        failures: Sequence[str],
        lost: str | None = None,
    ) -> list[str]:
        """The warnings that begin with this step. `samples` are completions not seen before."""
        if samples:
            self._rewards = self._reward(samples)
        holding = [*self._rewards, *self._fit(layers)]
        if failures:
            holding.append(f"cannot write, records are waiting: {failures[0]}")
        if lost:
            holding.append(f"records lost: the disk did not take {lost}")
        new = [text for text in holding if _kind(text) not in map(_kind, self.standing)]
        self.standing = holding
        return new

    def _reward(self, samples: Sequence[Sample]) -> list[str]:
        found = []
        if self._lasts("variance", not _varies(samples)):
            rewards = [each.reward for each in samples if each.reward is not None]
            mean = sum(rewards) / max(len(rewards), 1)
            found.append(
                f"no reward variance: in {STEPS} steps all completions of a prompt got the same "
                f"reward ({mean:.2f} on average), so nothing more is learnt; stop here, or change "
                "the task, the temperature or the reward"
            )
        if self._lasts("truncated", all(each.truncated for each in samples)):
            found.append(
                f"everything truncated: for {STEPS} steps no completion ended by itself; "
                "raise the length limit"
            )
        gates = [each.parts[0] for each in samples if each.parts[0] is not None]
        self._gate_passed |= any(gate == 1 for gate in gates)
        self._gate_steps += bool(gates)
        if not self._gate_passed and self._gate_steps >= GATE_STEPS:
            found.append(
                f"gate never passed: no completion of {self._gate_steps} steps has R_A = 1, so "
                "every reward is 0; begin with an easier task or better examples in the prompt"
            )
        return found

    def _fit(self, layers: Sequence[LayerHealth]) -> list[str]:
        found = []
        for layer in layers:
            fit = self._fits.setdefault(layer.layer_index, _Fit())
            if layer.fvu is not None and layer.tokens:
                fit.add(layer.fvu, layer.tokens)
            now = fit.now
            if now is None or fit.first is None:
                continue
            if now > fit.first * DRIFT and now > fit.first + DRIFT_LEAST:
                found.append(
                    f"dictionary of layer {layer.layer_index} no longer explains the policy: "
                    f"FVU was {fit.first:.2f} at first and is {now:.2f}; its features mean less"
                )
        return found

    def _lasts(self, name: str, holds: bool) -> bool:
        self._in_a_row[name] = self._in_a_row.get(name, 0) + 1 if holds else 0
        return self._in_a_row[name] >= STEPS


def _varies(samples: Sequence[Sample]) -> bool:
    """Whether some completion was better or worse than its group. Unknown without rewards: yes."""
    return any(each.advantage is None or abs(each.advantage) > NO_ADVANTAGE for each in samples)


def _kind(text: str) -> str:
    """What a warning is about, without its numbers."""
    return text.partition(":")[0]
