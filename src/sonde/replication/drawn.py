"""Intervals of what is no mean: a maximum, a crossing, a depth. By bootstrap over clusters."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.statistics.bootstrap import counts
from sonde.statistics.clusters import fold, table

Numbers = NDArray[np.float64]

RESAMPLES: Final = 2000
LEVEL: Final = 0.95


class Interval(NamedTuple):
    """A number and where it lies; the ends are None where there are none."""

    value: float | None
    low: float | None
    high: float | None


def drawn(
    changes: Numbers,
    gaps: Numbers | None,
    clusters: Sequence[str | None] | None,
    of: Callable[[Numbers], Numbers],
    seed: int = 0,
) -> Interval:
    """Of means over trials, [rows, cells] -> [rows]; the first row is that of all trials.

    `changes` are [trials, cells], and means are divided by those of `gaps`, one a trial. The ends
    are percentiles: nothing is assumed of the shape.
    """
    folded = fold(table(changes), None if gaps is None else table(gaps), clusters)
    every = np.ones((1, folded.n))
    rows = np.concatenate([every, *counts(folded.n, RESAMPLES, seed)])
    scale = rows @ folded.scale
    means = (rows @ folded.sums) / np.where(scale == 0, np.nan, scale)
    found = of(means)
    value, rest = float(found[0]), found[1:][np.isfinite(found[1:])]
    if not np.isfinite(value):
        return Interval(None, None, None)
    if folded.n < 2 or not len(rest):
        return Interval(value, None, None)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(rest, [tail, 1 - tail])
    return Interval(value, float(low), float(high))
