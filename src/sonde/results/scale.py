"""From a metric's values to places on one colour scale, shared by all hooks of a sweep.

The scale is symmetric about the corrupt baseline, where a patch has done nothing, so that equal
distances look equal in both directions. Without a baseline it runs from the least to the greatest.
It is never stretched per hook: panels side by side would then lie about each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sonde.results.colors import Kind, Rgb, Theme, diverging, sequential
from sonde.results.numbers import decimals_for, fixed, signed

if TYPE_CHECKING:
    from sonde.results.sweep import Sweep


@dataclass(frozen=True)
class Scale:
    """The least and the greatest value, the baseline between them, and the noise around it."""

    low: float
    high: float
    baseline: float | None
    noise: float = 0.0

    @classmethod
    def of(cls, sweep: Sweep) -> Scale:
        """The scale of all the pictures of a sweep."""
        values = np.concatenate([view.values.ravel() for view in sweep.views])
        values = values[~np.isnan(values)]
        baseline = sweep.baseline
        if baseline is not None:
            values = np.append(values, baseline)
        if not values.size:
            values = np.zeros(1)
        return cls(float(values.min()), float(values.max()), baseline, sweep.noise_floor or 0.0)

    @property
    def kind(self) -> Kind:
        """Which of the two colour maps it uses."""
        return "sequential" if self.baseline is None else "diverging"

    @property
    def reach(self) -> float:
        """The largest distance from the baseline; without one, from the least value."""
        if self.baseline is None:
            return self.high - self.low
        return max(self.high - self.baseline, self.baseline - self.low)

    @property
    def limits(self) -> tuple[float, float]:
        """The values at the two ends of the colour map, never equal."""
        reach = self.reach or 1.0
        if self.baseline is None:
            return self.low, self.low + reach
        return self.baseline - reach, self.baseline + reach

    @property
    def decimals(self) -> int:
        """Decimals that show three significant digits of the reach."""
        return decimals_for(self.reach)

    def place(self, value: float) -> float:
        """From −1 to 1 around the baseline, or from 0 to 1 without one."""
        start = self.low if self.baseline is None else self.baseline
        return (value - start) / (self.reach or 1.0)

    def color(self, value: float, theme: Theme) -> Rgb:
        """The colour of a value on this surface."""
        mapped = sequential if self.baseline is None else diverging
        return mapped(self.place(value), theme)

    def is_noise(self, value: float) -> bool:
        """Whether a value is no farther from the baseline than the baseline is from itself.

        Never so when the noise floor is 0: then every difference, however small, is real.
        """
        if self.baseline is None or self.noise <= 0:
            return False
        return abs(value - self.baseline) <= self.noise

    def text(self, value: float | None) -> str:
        """A value with this scale's decimals."""
        return fixed(value, self.decimals)

    def change(self, value: float) -> str:
        """How far a value is from the baseline, with its sign; nothing without a baseline."""
        return "" if self.baseline is None else signed(value - self.baseline, self.decimals)
