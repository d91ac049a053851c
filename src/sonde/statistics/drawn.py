"""Intervals of what is no mean: a maximum, a crossing, a depth. By bootstrap over clusters."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sonde.statistics.bootstrap import counts
from sonde.statistics.clusters import Numbers, fold, table

RESAMPLES: Final = 2000
LEVEL: Final = 0.95


class Interval(NamedTuple):
    """A number and where it lies; None where there is none."""

    value: float | None
    low: float | None
    high: float | None


def drawn(
    values: ArrayLike,
    of: Callable[[Numbers], Numbers],
    *,
    denominators: ArrayLike | None = None,
    clusters: Sequence[str | None] | None = None,
    seed: int = 0,
) -> Interval:
    """A number made of the means over trials: `of` takes [draws, cells] and gives [draws].

    Values are [trials, cells]; with `denominators`, one a trial, means are ratios of means. Ends
    are percentiles, and there are none where some draw has no number: those left would not be a
    sample any more.
    """
    under = None if denominators is None else table(denominators, "denominators")
    folded = fold(table(values), under, clusters)
    rows = np.concatenate([np.ones((1, folded.n)), *counts(folded.n, RESAMPLES, seed)])
    scale = rows @ folded.scale
    found = of((rows @ folded.sums) / np.where(scale == 0, np.nan, scale))
    if not np.isfinite(found[0]):
        return Interval(None, None, None)
    if folded.n < 2 or not np.isfinite(found).all():
        return Interval(float(found[0]), None, None)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(found[1:], [tail, 1 - tail])
    return Interval(float(found[0]), float(low), float(high))
