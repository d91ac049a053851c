"""Pearson's and Spearman's r with intervals, and differences within groups.

Intervals are by Fisher's z: atanh(r) ± 1.96 · √v, with v = 1 / (n − 3) for Pearson's r and
(1 + r²/2) / (n − 3) for Spearman's (Bonett and Wright, 2000). Where group means were taken out
first, n is smaller by the number of groups less one. Too few points, or a constant, is a reason,
never a number.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sonde.schema.analytics import Among, Coefficient, Correlation, GroupDifference

Numbers = NDArray[np.float64]

NORMAL = 1.959963984540054
"""Half of a 95 % interval, in standard deviations."""
LEAST = 4
"""Fewer points have no interval."""
RESAMPLES, SEED = 2000, 0
MANY = 500
"""Groups beyond which resampling and the normal distribution agree."""


def correlation(among: Among, x: Numbers, y: Numbers) -> Correlation:
    """How two lists of numbers go together."""
    return _correlation(among, x, y, None)


def within_groups(x: Numbers, y: Numbers, group: NDArray[np.int64]) -> Correlation:
    """The same for differences from group means; groups of one have none and are left out."""
    _, place, sizes = np.unique(group, return_inverse=True, return_counts=True)
    several = sizes[place] > 1
    x, y, place = x[several], y[several], place[several]
    _, place = np.unique(place, return_inverse=True)
    groups = int(place.max()) + 1 if len(place) else 0
    return _correlation("within groups", _centred(x, place), _centred(y, place), groups)


def passed_minus_failed(
    loss: Numbers, passed: NDArray[np.bool_], group: NDArray[np.int64]
) -> GroupDifference:
    """Mean loss of passed minus failed generations in each group that has both."""
    names, place = np.unique(group, return_inverse=True)
    counts = [np.bincount(place[side], minlength=len(names)) for side in (passed, ~passed)]
    both = (counts[0] > 0) & (counts[1] > 0)
    if not both.any():
        why = "no group has both a passed and a failed generation"
        return GroupDifference(groups=0, mean=None, low=None, high=None, reason=why)
    sums = [
        np.bincount(place[side], weights=loss[side], minlength=len(names))
        for side in (passed, ~passed)
    ]
    found = sums[0][both] / counts[0][both] - sums[1][both] / counts[1][both]
    if len(found) < 2:
        why = "one group alone has no interval"
        return GroupDifference(groups=1, mean=float(found[0]), low=None, high=None, reason=why)
    low, high = _interval(found)
    mean = float(found.mean())
    return GroupDifference(groups=len(found), mean=mean, low=low, high=high, reason=None)


def _interval(values: Numbers) -> tuple[float, float]:
    """Where the mean lies: by resampling, or, where that would change nothing, the normal way."""
    if len(values) > MANY:
        half = NORMAL * float(values.std(ddof=1)) / math.sqrt(len(values))
        return float(values.mean()) - half, float(values.mean()) + half
    drawn = np.random.default_rng(SEED).integers(0, len(values), (RESAMPLES, len(values)))
    low, high = np.percentile(values[drawn].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def ranks(values: Numbers) -> Numbers:
    """Ranks from 1; equals share the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    mean: Numbers = (last - (counts - 1) / 2)[place]
    return mean


def _correlation(among: Among, x: Numbers, y: Numbers, groups: int | None) -> Correlation:
    why = _why_not(x, y, groups)
    pearson = spearman = None
    if why is None:
        free = len(x) - 3 - (max(groups - 1, 0) if groups else 0)
        pearson = _coefficient(_pearson(x, y), free, ranked=False)
        spearman = _coefficient(_pearson(ranks(x), ranks(y)), free, ranked=True)
    return Correlation(
        among=among,
        n=len(x),
        groups=groups,
        pearson=pearson,
        spearman=spearman,
        reason=why,
    )


def _why_not(x: Numbers, y: Numbers, groups: int | None) -> str | None:
    least = LEAST + (max(groups - 1, 0) if groups else 0)
    if len(x) < least:
        return f"{len(x)} generations are too few; at least {least} are needed"
    if _constant(y):
        return "R is the same for all of them"
    if _constant(x):
        return "reconstruction loss is the same for all of them"
    return None


def _constant(values: Numbers) -> bool:
    """Whether values differ by no more than rounding does."""
    scale = float(np.abs(values).max())
    return float(np.ptp(values)) <= 1e-12 * max(scale, 1e-300)


def _pearson(x: Numbers, y: Numbers) -> float:
    x, y = x - x.mean(), y - y.mean()
    r = float((x * y).sum() / math.sqrt(float((x * x).sum()) * float((y * y).sum())))
    return max(-1.0, min(1.0, r))


def _coefficient(r: float, free: int, *, ranked: bool) -> Coefficient:
    if abs(r) > 1 - 1e-12:
        return Coefficient(r=r, low=None, high=None)
    half = NORMAL * math.sqrt((1 + r * r / 2 if ranked else 1) / free)
    return Coefficient(
        r=r, low=math.tanh(math.atanh(r) - half), high=math.tanh(math.atanh(r) + half)
    )


def _centred(values: Numbers, place: NDArray[np.int64]) -> Numbers:
    if not len(values):
        return values
    means = np.bincount(place, weights=values) / np.bincount(place)
    centred: Numbers = values - means[place]
    return centred
