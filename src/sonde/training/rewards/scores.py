"""The parts of a reward and what they add up to.

R = R_A · (0.50·R_B + 0.05·R_C + 0.45·R_D), between 0 and 1. R_A is a gate: 0 or 1, nothing between.
"""

from dataclasses import dataclass

from sonde.errors import BadReward
from sonde.training.metadata import LOCKED_WEIGHTS


@dataclass(frozen=True)
class Scores:
    """One completion, graded."""

    a: bool
    """The gate: whether it counts at all."""
    b: float = 0.0
    c: float = 0.0
    d: float = 0.0
    """Each from 0 to 1."""
    invalid: bool = False
    """It does not parse, or its verifier raised."""

    def __post_init__(self) -> None:
        for name in ("b", "c", "d"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise BadReward(f"R_{name.upper()} is {value!r}; parts of a reward are from 0 to 1")

    @property
    def reward(self) -> float:
        """R."""
        weights = LOCKED_WEIGHTS
        behind = weights["a"] * self.b + weights["b"] * self.c + weights["c"] * self.d
        return float(self.a) * behind


INVALID = Scores(a=False, invalid=True)
"""What does not parse, or made its verifier raise."""
