"""What many trials say of each cell, in one call: mean, interval, t, three p, q.

values [trials, cells] ──► clusters ──► bootstrap ──► low, high
                                   └──► signs     ──► p alone, of the family, step by step ──► q
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sonde.errors import BadRequest
from sonde.statistics.bootstrap import Method, intervals
from sonde.statistics.clusters import Clusters, Numbers, fold, table
from sonde.statistics.permutation import adjusted
from sonde.statistics.signs import EVERY, SignFlips, sign_flips, t_of

FEW = 20
"""With fewer clusters than this the bootstrap's intervals are known to be too narrow."""
NOTHING = "no trial has a number here"

Each = tuple[float | None, ...]
"""One entry a cell; None has its reason in `reasons`."""


@dataclass(frozen=True)
class Effects:
    """The statistics of every cell over the trials, and how they were made."""

    n: tuple[int, ...]
    """Trials that have a number, cell by cell."""
    mean: Each
    """Or the ratio of means, where there are denominators."""
    low: Each
    high: Each
    t: Each
    p_alone: Each
    """Sign flips, of this cell as if it had been the only one."""
    p: Each
    """Family-wise: the chance that any cell would have so great a |t|."""
    p_step_down: Each
    """Family-wise too, and never greater: each cell against those that are left."""
    q: Each
    """The least rate of false discoveries that lets this cell in (Benjamini and Hochberg)."""
    share_positive: Each
    reasons: tuple[str | None, ...]
    trials: int
    clusters: int
    """What was resampled and flipped as one; as many as trials where none was given."""
    method: Method
    level: float
    resamples: int
    flips: int
    exhaustive: bool
    """Whether p is from every way of flipping signs: up to 16 clusters."""
    seed: int
    notes: tuple[str, ...]


def effects(
    values: ArrayLike,
    *,
    denominators: ArrayLike | None = None,
    clusters: Sequence[str | None] | None = None,
    method: Method = "bca",
    level: float = 0.95,
    resamples: int = 10_000,
    flips: int = 10_000,
    seed: int = 0,
) -> Effects:
    """Test every cell of values [trials, cells] against zero, and say where its mean lies.

    NaN is a number that a trial does not have. With `denominators`, [trials] or [trials, cells],
    the mean is a ratio of means; the tests are of the numerators. Trials of one cluster are drawn
    and flipped together. The same seed gives the same numbers.
    """
    numbers = table(values)
    under = None if denominators is None else _under(table(denominators, "denominators"), numbers)
    _check(method, level, resamples, flips)
    folded = fold(numbers, under, clusters)
    there = ~np.isnan(numbers if under is None else numbers + under)
    n = there.sum(axis=0)
    some = n > 0
    found = _TestedCells(
        numbers.shape[1], some, {int(cell): NOTHING for cell in np.flatnonzero(~some)}
    )
    part = folded.part(some)
    mean, low, high = _where(part, found, method, level, resamples, seed)
    tests = sign_flips(part, flips=flips, seed=seed) if some.any() else None
    p = _p(tests)
    t, spread = t_of(part) if some.any() else (np.zeros(0), np.zeros(0, dtype=bool))
    t_each = found.spread(t, spread, "its numbers are all the same, so it has no t")
    return Effects(
        n=tuple(n.tolist()),
        mean=mean,
        low=low,
        high=high,
        t=t_each,
        p_alone=found.spread(p[0]),
        p=found.spread(p[1]),
        p_step_down=found.spread(p[2]),
        q=found.spread(adjusted(p[0])),
        share_positive=found.spread(_positive(numbers, under)[some] / np.maximum(n[some], 1)),
        reasons=tuple(found.why.get(cell) for cell in range(len(n))),
        trials=len(numbers),
        clusters=folded.n,
        method=method,
        level=level,
        resamples=resamples,
        flips=tests.flips if tests else 0,
        exhaustive=folded.n <= EVERY,
        seed=seed,
        notes=tuple(_notes(folded.n, clusters is not None)),
    )


@dataclass(frozen=True)
class _TestedCells:
    """Which cells of all have trials: puts their numbers into their places among all."""

    cells: int
    some: NDArray[np.bool_]
    why: dict[int, str]

    def spread(
        self, numbers: Numbers, sure: NDArray[np.bool_] | None = None, why: str = ""
    ) -> Each:
        """One entry a cell; those not sure are None, and `why`, unless they have a reason."""
        each: list[float | None] = [None] * self.cells
        for place, cell in enumerate(np.flatnonzero(self.some).tolist()):
            if sure is None or sure[place]:
                each[cell] = float(numbers[place])
            else:
                self.why.setdefault(cell, why)
        return tuple(each)


def _where(
    part: Clusters, found: _TestedCells, method: Method, level: float, resamples: int, seed: int
) -> tuple[Each, Each, Each]:
    """Mean, or ratio, and interval of every cell."""
    if not part.sums.shape[1]:
        return (nothing := found.spread(np.zeros(0))), nothing, nothing
    scale = np.broadcast_to(part.scale.sum(axis=0), part.sums.shape[1])
    zero = scale == 0
    mean = found.spread(
        part.sums.sum(axis=0) / np.where(zero, 1.0, scale), ~zero, "what it is divided by is 0"
    )
    if part.n == 1:
        why = "one trial, or one cluster, alone has no interval"
        nothing = found.spread(np.zeros(len(scale)), np.zeros(len(scale), dtype=bool), why)
        return mean, nothing, nothing
    ends = intervals(part, method=method, level=level, resamples=resamples, seed=seed)
    where = np.flatnonzero(found.some)
    for place, why in ends.why.items():
        found.why.setdefault(int(where[place]), why)
    sure = ~np.isin(np.arange(len(scale)), list(ends.why))
    return mean, found.spread(ends.low, sure), found.spread(ends.high, sure)


def _under(denominators: Numbers, values: Numbers) -> Numbers:
    if len(denominators) != len(values) or denominators.shape[1] not in (1, values.shape[1]):
        raise BadRequest(
            f"denominators have the shape {denominators.shape} and values {values.shape}; "
            "give one for each trial, or one for each number"
        )
    return denominators


def _check(method: Method, level: float, resamples: int, flips: int) -> None:
    if method not in ("percentile", "bca"):
        raise BadRequest(f"method is {method!r}; there are 'percentile' and 'bca'")
    if not 0 < level < 1:
        raise BadRequest(f"level is {level}; give one between 0 and 1, such as 0.95")
    if min(resamples, flips) < 100:
        raise BadRequest(f"{resamples} resamples and {flips} flips; give 100 or more of each")


def _p(tests: SignFlips | None) -> tuple[Numbers, Numbers, Numbers]:
    if tests is None:
        return np.zeros(0), np.zeros(0), np.zeros(0)
    return tests.alone, tests.family, tests.step_down


def _positive(numbers: Numbers, under: Numbers | None) -> NDArray[np.int64]:
    """How many trials have a positive number, or share."""
    signed = numbers if under is None else numbers * np.sign(under)
    found: NDArray[np.int64] = (signed > 0).sum(axis=0)
    return found


def _notes(n: int, named: bool) -> list[str]:
    one = "cluster" if named else "trial"
    notes = []
    if n < FEW:
        notes.append(
            f"{n} {one}s are few: a bootstrap interval over fewer than {FEW} is too narrow"
        )
    if n <= 6:
        notes.append(f"with {n} {one}s no p can be below {2 / 2**n:g}")
    return notes
