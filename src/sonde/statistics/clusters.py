"""Trials folded into clusters: what is resampled, and what changes its sign, as one.

Trials that share a template or a subject are not independent, and an interval that takes them to be
is too narrow. Sums over clusters are all that means, ratios and their tests need, so everything
later is a product with a matrix [draws, clusters], the same draws for every cell.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sonde.errors import BadRequest

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Clusters:
    """Sums over each cluster. -> [clusters, cells], or [clusters, 1] where all cells have one."""

    sums: Numbers
    counts: Numbers
    """How many trials of the cluster have a number."""
    scale: Numbers
    """What a sum is divided by: the counts, or the sums of the denominators."""

    @property
    def n(self) -> int:
        """How many clusters there are."""
        return len(self.sums)

    def part(self, cells: slice | NDArray[np.bool_]) -> "Clusters":
        """Some of the cells."""
        one = (_columns(each, cells) for each in (self.sums, self.counts, self.scale))
        return Clusters(*one)


def table(values: ArrayLike, name: str = "values") -> Numbers:
    """Numbers as [trials, cells]. NaN is a number that is not there; infinity is refused."""
    found: Numbers = np.array(values, dtype=np.float64)
    found = found[:, None] if found.ndim == 1 else found
    if found.ndim != 2 or not found.size:
        raise BadRequest(f"{name} have the shape {found.shape}; [trials, cells] is needed")
    if np.isinf(found).any():
        trial, cell = np.argwhere(np.isinf(found))[0]
        raise BadRequest(f"{name} are infinite in trial {trial}, cell {cell}; leave that one out")
    return found


def fold(
    values: Numbers, denominators: Numbers | None, clusters: Sequence[str | None] | None
) -> Clusters:
    """Add trials up by cluster; a trial without one is a cluster of its own."""
    there = ~np.isnan(values)
    if denominators is not None:
        there &= ~np.isnan(denominators)
    place = places(clusters, len(values))
    counts = _whole(there.astype(np.float64), there)
    scale = counts
    if denominators is not None:
        scale = _whole(np.where(there, denominators, 0.0), there & (denominators.shape[1] == 1))
    added = (_added(each, place) for each in (np.where(there, values, 0.0), counts, scale))
    return Clusters(*added)


def places(clusters: Sequence[str | None] | None, n: int) -> NDArray[np.int64]:
    """The number of each trial's cluster, in the order in which they appear."""
    if clusters is None:
        return np.arange(n)
    if len(clusters) != n:
        raise BadRequest(f"{len(clusters)} clusters for {n} trials; give one for each, or none")
    numbers: dict[str | int, int] = {}
    found = [
        numbers.setdefault(trial if cluster is None else cluster, len(numbers))
        for trial, cluster in enumerate(clusters)
    ]
    return np.array(found, dtype=np.int64)


def _whole(numbers: Numbers, alike: NDArray[np.bool_]) -> Numbers:
    """One column for all cells, where none is missing anything: products then cost nothing."""
    return numbers[:, :1] if alike.all() else numbers


def _added(numbers: Numbers, place: NDArray[np.int64]) -> Numbers:
    n = int(place.max()) + 1
    if n == len(numbers):
        return numbers
    found = np.zeros((n, numbers.shape[1]))
    np.add.at(found, place, numbers)
    return found


def _columns(numbers: Numbers, cells: slice | NDArray[np.bool_]) -> Numbers:
    return numbers if numbers.shape[1] == 1 else numbers[:, cells]
