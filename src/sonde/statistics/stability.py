"""Whether other trials would have shown the same cells.

A single prompt's circuit is volatile even when every effect in it is exact. So the strongest cells
of one half of the trials are compared with those of the other, and those of each cluster with those
of every other cluster: Jaccard's overlap of the k strongest, and Spearman's r of all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sonde.errors import BadRequest
from sonde.statistics.clusters import Clusters, Numbers, fold, table
from sonde.statistics.correlation import ranks

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]

SPLITS = 100
MANY = 200
"""More clusters than this are compared in a sample of so many."""


@dataclass(frozen=True)
class Agreement:
    """How alike several lists of means are: averages over pairs of lists."""

    jaccard: float | None
    spearman: float | None
    compared: int
    """Pairs of lists."""
    reason: str | None


@dataclass(frozen=True)
class Stability:
    """Of halves of the trials, and of clusters."""

    k: int
    halves: Agreement
    between_clusters: Agreement
    left_out: int
    """Cells that some trial lacks: they are not compared."""


def stability(
    values: ArrayLike,
    *,
    clusters: Sequence[str | None] | None = None,
    k: int = 10,
    splits: int = SPLITS,
    seed: int = 0,
) -> Stability:
    """Compare the k cells of the greatest |mean|, and the order of all cells.

    Between random halves, which never cut a cluster in two, and between clusters.
    """
    numbers = table(values)
    if k < 1 or splits < 1:
        raise BadRequest(f"k is {k} and splits {splits}; give 1 or more of each")
    whole = ~np.isnan(numbers).any(axis=0)
    folded = fold(numbers[:, whole], None, clusters) if whole.any() else None
    rng = np.random.default_rng(seed)
    halves, by_cluster = _halves(folded, splits, rng), _by_cluster(folded, clusters, rng)
    first = 2 * np.arange(len(halves) // 2)
    return Stability(
        k=k,
        halves=_agreement(halves, (first, first + 1), k, "two trials, or clusters, are needed"),
        between_clusters=_agreement(
            by_cluster, np.triu_indices(len(by_cluster), 1), k, "there are no two clusters"
        ),
        left_out=int((~whole).sum()),
    )


def top(means: Numbers, k: int) -> NDArray[np.bool_]:
    """Which k cells of each row have the greatest |mean|; of equals the first."""
    chosen = np.zeros(means.shape, dtype=bool)
    order = np.argsort(-np.abs(means), axis=1, kind="stable")
    np.put_along_axis(chosen, order[:, :k], True, axis=1)
    return chosen


def _halves(folded: Clusters | None, splits: int, rng: np.random.Generator) -> Numbers:
    """Means of halves, one and its other in turn. -> [2 · splits, cells]"""
    if folded is None or folded.n < 2:
        return np.zeros((0, 0))
    orders = [rng.permutation(folded.n) for _ in range(splits)]
    middle = folded.n // 2
    sides = [side for order in orders for side in (order[:middle], order[middle:])]
    return np.stack([_mean(folded, side) for side in sides])


def _by_cluster(
    folded: Clusters | None, clusters: Sequence[str | None] | None, rng: np.random.Generator
) -> Numbers:
    """Means of clusters. -> [clusters, cells]"""
    if folded is None or clusters is None or folded.n < 2:
        return np.zeros((0, 0))
    chosen = np.sort(rng.permutation(folded.n)[:MANY])
    return np.stack([_mean(folded, np.array([place])) for place in chosen])


def _mean(folded: Clusters, rows: NDArray[np.int64]) -> Numbers:
    mean: Numbers = folded.sums[rows].sum(axis=0) / folded.counts[rows].sum(axis=0)
    return mean


def _agreement(means: Numbers, pairs: Pairs, k: int, too_few: str) -> Agreement:
    if not len(means):
        return Agreement(None, None, 0, too_few)
    one, other = pairs
    order = _spearman(means, pairs)
    if means.shape[1] <= k:
        why = f"{means.shape[1]} cells are no more than k, {k}: every one is among the strongest"
        return Agreement(None, order, len(one), why)
    strongest = top(means, k).astype(np.float64)
    both = (strongest @ strongest.T)[one, other]
    overlap = float((both / (2 * k - both)).mean())
    same = "all cells of a half, or of a cluster, are the same"
    return Agreement(overlap, order, len(one), same if order is None else None)


def _spearman(means: Numbers, pairs: Pairs) -> float | None:
    """The average correlation of ranks; None where one row has a single rank."""
    ranked = np.stack([ranks(each) for each in means]) - (means.shape[1] + 1) / 2
    size = np.sqrt((ranked**2).sum(axis=1))
    if not size.all():
        return None
    ranked /= size[:, None]
    return float((ranked @ ranked.T)[pairs].mean())
