"""Bootstrap intervals of means and of ratios of means.

1. **Draw**    so many clusters as there are, with replacement: how often each is a row of counts,
               [resamples, clusters]. The rows are the same for every cell, and for every block.
2. **Count**   one product with the clusters' sums is the mean of each resample, a block at a time.
3. **Read**    percentiles of the sorted means; or those that BCa moves them to, for a mean that is
               off the middle (z₀) and a spread that depends on the mean (a, by the jackknife).

A cell whose numbers are all one has the interval of no width. Deliberately not the t interval: it
asks for a shape that shares of a gap do not have.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sonde.statistics.clusters import Clusters, Numbers

Method = Literal["percentile", "bca"]

ROWS = 256
"""Resamples that are multiplied at once."""
AT_ONCE = 2**23
"""Means that are held at once; more cells are taken in turns."""
NARROW = 1e-12
"""What is no wider than this share of the numbers is rounding."""


@dataclass(frozen=True)
class Intervals:
    """The interval of every cell, or why it has none."""

    low: Numbers
    high: Numbers
    why: dict[int, str]
    """Cell -> reason; its two numbers mean nothing."""


def intervals(
    clusters: Clusters, *, method: Method, level: float, resamples: int, seed: int
) -> Intervals:
    """Where each mean, or ratio of means, lies at that level."""
    cells = clusters.sums.shape[1]
    step = max(1, AT_ONCE // resamples)
    low, high, why = np.zeros(cells), np.zeros(cells), {}
    for start in range(0, cells, step):
        part = clusters.part(slice(start, start + step))
        drawn, safe = _resampled(part, resamples, seed)
        found, sure = _ends(part, drawn, safe, method, level)
        low[start : start + step], high[start : start + step] = found
        for cell in np.flatnonzero(~safe):
            why[start + int(cell)] = (
                "what it is divided by is 0, or changes its sign, in some of the resamples"
            )
        for cell in np.flatnonzero(safe & ~sure):
            why[start + int(cell)] = "all resamples lie on one side; there is no BCa interval"
    return Intervals(low, high, why)


def counts(n: int, resamples: int, seed: int) -> Iterator[Numbers]:
    """How often each of n is drawn, in blocks. -> [rows, n]"""
    rng = np.random.default_rng(seed)
    for start in range(0, resamples, ROWS):
        rows = min(ROWS, resamples - start)
        drawn = rng.integers(0, n, (rows, n)) + n * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def _resampled(clusters: Clusters, resamples: int, seed: int) -> tuple[Numbers, NDArray[np.bool_]]:
    """The sorted means, [cells, resamples], and whether every one could be taken."""
    drawn = np.empty((clusters.sums.shape[1], resamples))
    below, above = np.inf, -np.inf
    start = 0
    for rows in counts(clusters.n, resamples, seed):
        scale = rows @ clusters.scale
        below, above = np.minimum(below, scale.min(axis=0)), np.maximum(above, scale.max(axis=0))
        mean = (rows @ clusters.sums) / np.where(scale == 0, 1.0, scale)
        drawn[:, start : start + len(rows)] = mean.T
        start += len(rows)
    drawn.sort(axis=1)
    safe = np.broadcast_to(np.asarray(below * above > 0), len(drawn))
    return drawn, safe


def _ends(
    clusters: Clusters, drawn: Numbers, safe: NDArray[np.bool_], method: Method, level: float
) -> tuple[tuple[Numbers, Numbers], NDArray[np.bool_]]:
    """The two ends of every interval, and whether they are to be had."""
    tail = (1 - level) / 2
    share = np.broadcast_to(np.array([[tail], [1 - tail]]), (2, len(drawn)))
    total = np.where(safe, clusters.scale.sum(axis=0), 1.0)
    value = clusters.sums.sum(axis=0) / total
    flat = np.ptp(drawn, axis=1) <= NARROW * np.abs(drawn).max(axis=1)
    sure = np.ones(len(drawn), dtype=bool)
    if method == "bca":
        share, sure = _moved(share, _bias(drawn, value), _acceleration(clusters, value))
    ends = _at(drawn, np.where(sure, share, 0.5))
    return (np.where(flat, value, ends[0]), np.where(flat, value, ends[1])), sure | flat


def _bias(drawn: Numbers, value: Numbers) -> Numbers:
    """The share of resamples below the value, equals counted half."""
    near = NARROW * np.abs(value)
    less = (drawn < (value - near)[:, None]).sum(axis=1)
    more = (drawn > (value + near)[:, None]).sum(axis=1)
    share: Numbers = (less + (drawn.shape[1] - less - more) / 2) / drawn.shape[1]
    return share


def _acceleration(clusters: Clusters, value: Numbers) -> Numbers:
    """Skewness of what each cluster does to the value when it is left out."""
    scale = clusters.scale.sum(axis=0) - clusters.scale
    without = (clusters.sums.sum(axis=0) - clusters.sums) / np.where(scale == 0, np.inf, scale)
    off = without.mean(axis=0) - without
    off[np.abs(off) <= NARROW * np.abs(value)] = 0.0
    square = (off**2).sum(axis=0)
    skew: Numbers = (off**3).sum(axis=0) / (6 * np.where(square == 0, 1.0, square) ** 1.5)
    return skew


def _moved(share: Numbers, bias: Numbers, skew: Numbers) -> tuple[Numbers, NDArray[np.bool_]]:
    """Where BCa reads the ends instead, and whether it can."""
    from scipy.special import ndtr, ndtri

    sure = (bias > 0) & (bias < 1)
    z0 = ndtri(np.where(sure, bias, 0.5))
    z = z0 + ndtri(share)
    left = 1 - skew * z
    sure = sure & (left > 0).all(axis=0)
    return ndtr(z0 + z / np.where(left > 0, left, 1.0)), sure


def _at(drawn: Numbers, share: Numbers) -> Numbers:
    """Quantiles of sorted rows, linear between neighbours. share [ends, cells] -> the same"""
    place = share * (drawn.shape[1] - 1)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, drawn.shape[1] - 1)
    cell = np.arange(len(drawn))
    first, second = drawn[cell, below], drawn[cell, above]
    found: Numbers = first + (place - below) * (second - first)
    return found
