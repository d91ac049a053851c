"""Sign-flip tests: what the means would be if every effect could as well have been its negative.

1. **Flip**    clusters' signs, in every way there is where there are 16 clusters or fewer, else in
               so many random ways that the observed one counts among. All cells get the same
               flips, which keeps how they go together.
2. **Score**   |t| of each cell under each flip: two products, no loop. Clusters are the trials
               of t, so that it takes them as they are, large or small.
3. **Count**   how often a flip does as well: alone; as the greatest |t| of all cells (the
               family-wise p); and, step by step, as the greatest of those not yet taken.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sonde.statistics.clusters import Clusters, Numbers

EVERY = 16
"""So many clusters are flipped in every way there is."""
ROWS = 256
"""Flips that are multiplied at once."""
FLAT = 1e-9
"""A spread below this share of the squares is rounding: the numbers are all one."""
EQUAL = 1e-6
"""Squares of t that differ by no more than this share are the same number, differently added."""


@dataclass(frozen=True)
class SignFlips:
    """Three p of every cell, each two-sided."""

    alone: Numbers
    family: Numbers
    """Single step: against the greatest |t| of all cells."""
    step_down: Numbers
    """Against the greatest |t| of the cells whose own is no greater. Never above `family`."""
    exhaustive: bool
    """Whether every way of flipping was tried."""
    flips: int


def sign_flips(clusters: Clusters, *, flips: int, seed: int) -> SignFlips:
    """How likely each mean is where signs are a matter of chance."""
    score = _Score(clusters)
    seen = score(np.ones((1, clusters.n)))[0]
    order = np.argsort(-seen, kind="stable")
    bar = seen[order] * (1 - EQUAL)
    alone, stepped, family = (np.zeros(len(seen), dtype=np.int64) for _ in range(3))
    total = 0
    exhaustive = clusters.n <= EVERY
    for signs in _every(clusters.n) if exhaustive else _random(clusters.n, flips, seed):
        found = score(signs)[:, order]
        alone += (found >= bar).sum(axis=0)
        greatest = np.maximum.accumulate(found[:, ::-1], axis=1)[:, ::-1]
        stepped += (greatest >= bar).sum(axis=0)
        family += (greatest[:, :1] >= bar).sum(axis=0)
        total += len(signs)
    back = np.argsort(order, kind="stable")
    more = 0 if exhaustive else 1
    p = [(found + more) / (total + more) for found in (alone, family, stepped)]
    return SignFlips(
        alone=p[0][back],
        family=p[1][back],
        step_down=np.maximum.accumulate(p[2])[back],
        exhaustive=exhaustive,
        flips=total,
    )


def t_of(clusters: Clusters) -> tuple[Numbers, NDArray[np.bool_]]:
    """Student's t of each cell, and whether it has one: not where the numbers do not spread."""
    score = _Score(clusters)
    t = np.sqrt(score(np.ones((1, clusters.n)))[0]) * np.sign(clusters.sums.sum(axis=0))
    return t, score.spread()


class _Score:
    """Squares of t under flips, from what no flip changes.

    With s the sums and w the counts of the clusters, T = Σ±s, B = Σ±sw and m = T / N,
    t² = T² · (G − 1) / G / (Σs² − 2mB + m²Σw²), which is the usual t where each w is 1.
    """

    def __init__(self, clusters: Clusters) -> None:
        self._sums, counts = clusters.sums, clusters.counts
        here = (counts > 0).sum(axis=0)
        self._freedom = np.where(here > 1, (here - 1) / np.maximum(here, 1), 0.0)
        self._n = np.maximum(counts.sum(axis=0), 1.0)
        self._squares = (self._sums**2).sum(axis=0)
        self._weights = (counts**2).sum(axis=0)
        self._widest = float(counts.max())
        weighted = self._sums * counts
        one_size = np.array_equal(weighted, self._sums * self._widest)
        self._weighted = None if one_size else weighted

    def __call__(self, signs: Numbers) -> Numbers:
        """Signs [flips, clusters] -> [flips, cells]"""
        total = signs @ self._sums
        spread = np.maximum(self._spread(signs, total), FLAT * self._squares)
        spread[spread == 0] = np.inf  # all zeros: no flip does anything
        total *= total
        total *= self._freedom
        total /= spread
        return total

    def spread(self) -> NDArray[np.bool_]:
        """Whether a cell's numbers are more than one and the same."""
        one = np.ones((1, len(self._sums)))
        found: NDArray[np.bool_] = (
            self._spread(one, one @ self._sums)[0] > FLAT * self._squares
        ) & (self._freedom > 0)
        return found

    def _spread(self, signs: Numbers, total: Numbers) -> Numbers:
        weighted = self._widest * total if self._weighted is None else signs @ self._weighted
        mean = total / self._n
        spread: Numbers = self._squares + mean * (mean * self._weights - 2 * weighted)
        return spread


def _every(n: int) -> Iterator[Numbers]:
    """Each way of flipping n signs, but the first: its mirror image has the same |t|."""
    bits = np.arange(n - 1)
    for start in range(0, 2 ** (n - 1), ROWS):
        ways = np.arange(start, min(start + ROWS, 2 ** (n - 1)))
        flipped = (ways[:, None] >> bits) & 1
        yield np.hstack([np.ones((len(ways), 1)), 1.0 - 2.0 * flipped])


def _random(n: int, flips: int, seed: int) -> Iterator[Numbers]:
    rng = np.random.default_rng(seed)
    for start in range(0, flips, ROWS):
        rows = min(ROWS, flips - start)
        yield 1.0 - 2.0 * rng.integers(0, 2, (rows, n)).astype(np.float64)
