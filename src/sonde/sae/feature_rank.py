"""Which features come first, where nobody names them.

By attribution: how far the metric moves in a feature's cells to first order, which is what is added
there times a gradient. One backward pass is enough for all features, so it only says what is worth
running: every number of a table is run. The brightest features, which is the other order, are
usually not those that matter.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sonde.backends.base import Site
from sonde.engine.setting import Setting
from sonde.engine.slopes import slopes
from sonde.sae.changes import Changes

Scores = dict[int, NDArray[np.float64]]
"""By feature: a first-order effect for each column, and one everywhere."""


def first_order(
    setting: Setting, changes: Changes, site: Site, columns: Sequence[Sequence[int]]
) -> Scores:
    """What every active feature does to the metric. `columns` are what each cell writes to."""
    made = [changes.feature(number) for number in changes.active()]
    alpha = setting.request.alpha
    rows = [change.row(site, [at], alpha) for change in made for at in change.amounts]
    moved = iter(slopes(setting, rows).tolist() if rows else [])
    out: Scores = {}
    for change in made:
        here = {at: next(moved) for at in change.amounts}
        if here:
            cells = [sum(here.get(at, 0.0) for at in some) for some in columns]
            out[int(change.value)] = np.array([*cells, sum(here.values())])
    return out


def brightest(changes: Changes, last: int) -> dict[int, float]:
    """How active each feature is at the last position, in whichever prompt it is more."""
    sights = [(changes.corrupt, last)]
    if changes.how == "patch" and changes.clean is not None:
        sights += [(changes.clean, at) for at in changes.takes.get(last, ())]
    out: dict[int, float] = {}
    for sight, at in sights:
        for feature, shares in sight.seen.shares.items():
            if at in shares:
                out[feature] = max(out.get(feature, 0.0), shares[at].activation)
    return out


@dataclass
class Ranking:
    """What several prompts say of each feature, summed: effects of one sign add up."""

    sums: Scores = field(default_factory=dict)
    prompts: int = 0

    def add(self, scores: Scores) -> None:
        """One more prompt; a feature that is not active there has no effect there."""
        self.prompts += 1
        for feature, effects in scores.items():
            before = self.sums.get(feature)
            self.sums[feature] = effects if before is None else before + effects

    def first(self, n: int) -> list[int]:
        """Those with the largest effect in any of their cells; of equal ones, the lower number."""
        return _first({f: float(np.abs(sums).max()) for f, sums in self.sums.items()}, n)


def first_by_activation(activations: Iterable[dict[int, float]], n: int) -> list[int]:
    """Those that are most active, on average over prompts."""
    totals: dict[int, float] = {}
    for each in activations:
        for feature, activation in each.items():
            totals[feature] = totals.get(feature, 0.0) + activation
    return _first(totals, n)


def _first(values: dict[int, float], n: int) -> list[int]:
    return sorted(values, key=lambda feature: (-values[feature], feature))[:n]
