"""How often features are active: the histogram that a dictionary is first looked at by.

A feature that is active on a tenth of all tokens says little of any of them; one that never is has
no use, or the text was too short. Between them lie some decades, so rates are counted by logarithm.
"""

from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

DENSE: Final = 0.1
"""A feature that is active on more than this share of tokens is dense."""
STEPS: Final = 2
"""Bins in a decade."""
DECADES: Final = 6
"""The histogram ends at one token in a million; rarer features are in its first bin."""


@dataclass(frozen=True)
class Density:
    """How many features are active how often."""

    dense: int
    dense_share: float | None
    """What share of all activity is of dense features; None where nothing was active."""
    never: int
    """How many features were active on no token of this text."""
    median: float | None
    """The rate of the middle one of those that were."""
    counts: tuple[int, ...]
    """How many features have a rate between two edges, which are STEPS to a decade."""

    @classmethod
    def of(cls, active: Tensor, tokens: int) -> "Density":
        """From how many tokens each feature was active on. [d_sae]"""
        active = active.double().cpu()
        rates = active[active > 0] / max(tokens, 1)
        often = rates > DENSE
        total = float(active.sum())
        place = ((rates.log10() + DECADES) * STEPS).floor().clamp(0, DECADES * STEPS - 1).long()
        counts = torch.bincount(place, minlength=DECADES * STEPS)
        return cls(
            dense=int(often.sum()),
            dense_share=float(rates[often].sum() * tokens) / total if total else None,
            never=int((active == 0).sum()),
            median=float(rates.median()) if len(rates) else None,
            counts=tuple(counts.tolist()),
        )

    def plain(self) -> dict[str, Any]:
        """For JSON: the edges are of every bin from the first to the last, as rates."""
        edges = [10 ** (n / STEPS - DECADES) for n in range(DECADES * STEPS + 1)]
        return {
            "edges": [float(f"{edge:.4g}") for edge in edges],
            "features": list(self.counts),
            "never": self.never,
            "median": self.median,
            "dense": self.dense,
            "dense_share": self.dense_share,
        }
