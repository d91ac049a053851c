"""How likely a feature is to be in so many passed generations by chance, and false discoveries.

The chance: within each group, the gates are dealt again among its generations in every possible
way. The number of passed generations with the feature is then a sum of independent hypergeometric
numbers, one a group, whose distribution is worked out exactly by folding them together. No dice, so
no seed, and no least p that the number of throws would set.
"""

from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Whole = NDArray[np.int64]

AT_ONCE = 2**21
"""Numbers that are folded at once; more features are taken in turns."""


def chances(has: Whole, seen: Whole, passed: Whole, sizes: Whole) -> Numbers:
    """P(as many passed generations with the feature, or more). -> [features]

    `has` [features, groups]: generations with the feature; `seen` [features]: passed ones with it;
    `passed` and `sizes` [groups]: passed generations, and all.
    """
    reach = int(passed.sum()) + 1
    step = max(1, AT_ONCE // reach)
    parts = [
        _folded(has[start : start + step], seen[start : start + step], passed, sizes)
        for start in range(0, len(has), step)
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


def folds(features: int, passed: Whole) -> int:
    """How many products exact chances of so many features take, roughly."""
    return features * int(np.cumsum(passed).sum())


def normal_chances(has: Whole, seen: Whole, passed: Whole, sizes: Whole) -> Numbers:
    """The same by the normal distribution with the sum's mean and variance: for very many groups.

    Half a generation is given back, because counts are whole numbers.
    """
    from scipy.special import ndtr

    share = passed / sizes
    mean = has @ share
    spread = has * (sizes - has) @ (share * (1 - share) / np.maximum(sizes - 1, 1))
    away = (mean - seen + 0.5) / np.sqrt(np.where(spread > 0, spread, 1.0))
    p: Numbers = np.where(spread > 0, ndtr(away), 1.0)
    return p


def least(has: Whole, passed: Whole, sizes: Whole) -> Numbers:
    """The smallest p that any way to deal the gates could give each feature. -> [features]"""
    found = np.ones(len(has))
    for group, (n_passed, size) in enumerate(zip(passed.tolist(), sizes.tolist(), strict=True)):
        each = has[:, group]
        found *= _dealt(size, n_passed)[each, np.minimum(each, n_passed)]
    return found


def adjusted(p: Numbers) -> Numbers:
    """Benjamini's and Hochberg's q: the least rate of false discoveries that lets each in."""
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    q = np.empty(len(p))
    q[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    result: Numbers = np.minimum(q, 1.0)
    return result


def _folded(has: Whole, seen: Whole, passed: Whole, sizes: Whole) -> Numbers:
    found = np.ones((len(has), 1))
    for group, (n_passed, size) in enumerate(zip(passed.tolist(), sizes.tolist(), strict=True)):
        chance = _dealt(size, n_passed)[has[:, group]]
        folded = np.zeros((len(has), found.shape[1] + n_passed))
        for more in range(n_passed + 1):
            folded[:, more : more + found.shape[1]] += found * chance[:, more : more + 1]
        found = folded
    upward = np.cumsum(found[:, ::-1], axis=1)[:, ::-1]
    p: Numbers = np.take_along_axis(upward, seen[:, None], axis=1)[:, 0]
    return np.minimum(p, 1.0)


@lru_cache(maxsize=1024)
def _dealt(size: int, passed: int) -> Numbers:
    """Chances of 0, 1, … passed ones among those with the feature. -> [with it, passed ones]"""
    ways = comb(size, passed)
    return np.array(
        [
            [comb(has, i) * comb(size - has, passed - i) / ways for i in range(passed + 1)]
            for has in range(size + 1)
        ]
    )
