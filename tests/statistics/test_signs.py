"""Sign flips are full enumerations, and a family errs as often as it says."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sonde.statistics.clusters import Clusters, fold
from sonde.statistics.signs import sign_flips, t_of

RNG = np.random.default_rng(0)


def flipped(clusters: Clusters, flips: int = 10_000, seed: int = 0) -> Any:
    return sign_flips(clusters, flips=flips, seed=seed)


def by_hand(values: Any) -> Any:
    """Squares of t of every one of 2^n ways, the first the observed one. -> [2^n, cells]"""
    ways = np.array(list(product([1, -1], repeat=len(values))))
    return np.stack([stats.ttest_1samp(values * way[:, None], 0).statistic ** 2 for way in ways])


def test_p_is_that_of_all_4096_flips_of_twelve_pairs() -> None:
    values = RNG.normal(0.4, 1, (12, 5))
    found = flipped(fold(values, None, None))
    t = by_hand(values)
    near = t[0] * (1 - 1e-9)
    assert found.exhaustive
    assert found.alone.tolist() == pytest.approx((t >= near).mean(axis=0).tolist(), abs=0)
    assert found.family.tolist() == pytest.approx(
        (t.max(axis=1)[:, None] >= near).mean(axis=0).tolist(), abs=0
    )


def test_step_by_step_the_greatest_of_those_that_are_left_counts() -> None:
    values = RNG.normal(0, 1, (10, 4)) + [0, 1.5, 0.6, 0.9]
    t = by_hand(values)
    order = np.argsort(-t[0])
    p = [
        float((t[:, order[step:]].max(axis=1) >= t[0, cell] * (1 - 1e-9)).mean())
        for step, cell in enumerate(order)
    ]
    found = flipped(fold(values, None, None))
    assert found.step_down[order].tolist() == pytest.approx(np.maximum.accumulate(p).tolist())
    assert (found.step_down <= found.family).all()
    assert (found.alone <= found.step_down).all()


def test_scipy_finds_the_same_p() -> None:
    values = RNG.normal(0.5, 1, 9)
    theirs = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    assert flipped(fold(values[:, None], None, None)).alone[0] == pytest.approx(theirs.pvalue)


def test_beyond_sixteen_the_observed_signs_count_among_ten_thousand_random_ones() -> None:
    values = RNG.normal(0.3, 1, (17, 3)) + [0, 0, 9]
    found = flipped(fold(values, None, None))
    assert (found.exhaustive, found.flips) == (False, 10_000)
    assert found.alone[2] == pytest.approx(1 / 10_001, abs=2 / 10_001)
    theirs = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=20_000, axis=0, rng=1
    )
    assert found.alone[:2] == pytest.approx(theirs.pvalue[:2], abs=0.02)
    assert np.array_equal(found.alone, flipped(fold(values, None, None)).alone)


def test_pairs_of_a_cluster_are_flipped_together() -> None:
    values = RNG.normal(0.5, 1, (15, 2))
    names = [f"c{place}" for place in np.repeat(np.arange(6), [1, 2, 3, 4, 4, 1])]
    found = flipped(fold(values, None, names))
    sums = np.stack([values[[n == f"c{c}" for n in names]].sum(axis=0) for c in range(6)])
    size = np.array([1, 2, 3, 4, 4, 1])
    t = []
    for way in product([1, -1], repeat=6):
        each = sums * np.array(way)[:, None]
        mean = each.sum(axis=0) / 15
        t.append(mean**2 / ((each - mean * size[:, None]) ** 2).sum(axis=0))
    ways = np.array(t)
    assert found.alone.tolist() == pytest.approx(
        (ways >= ways[0] * (1 - 1e-9)).mean(axis=0).tolist()
    )


def test_t_is_that_of_the_textbook_and_missing_where_nothing_spreads() -> None:
    values = np.hstack([RNG.normal(0.4, 1, (20, 3)), np.full((20, 1), 0.1), np.zeros((20, 1))])
    t, spread = t_of(fold(values, None, None))
    assert t[:3] == pytest.approx(stats.ttest_1samp(values[:, :3], 0).statistic)
    assert spread.tolist() == [True, True, True, False, False]


def test_a_cell_that_some_pairs_lack_is_tested_over_the_others() -> None:
    values = RNG.normal(0.5, 1, (12, 2))
    values[8:, 1] = np.nan
    found = flipped(fold(values, None, None))
    alone = flipped(fold(values[:8, 1:], None, None))
    assert found.alone[1] == pytest.approx(alone.alone[0])
    assert t_of(fold(values, None, None))[0][1] == pytest.approx(
        stats.ttest_1samp(values[:8, 1], 0).statistic
    )


def test_equal_numbers_and_zeros_have_the_p_that_enumeration_gives() -> None:
    values = np.stack([np.full(10, 0.1), np.zeros(10), 0.1 * np.arange(1, 11)], axis=1)
    assert flipped(fold(values, None, None)).alone.tolist() == [2 / 2**10, 1.0, 2 / 2**10]


@pytest.mark.slow
@pytest.mark.parametrize(("pairs", "flips"), [(11, 0), (30, 999)])
def test_a_family_of_30_by_9_cells_errs_in_five_of_a_hundred_nulls(pairs: int, flips: int) -> None:
    """1,000 grids in which nothing is true, and neighbours go together as layers do."""
    rng = np.random.default_rng(4)
    single = stepped = 0
    for seed in range(1000):
        values = rng.normal(size=(pairs, 270)) + rng.normal(size=(pairs, 1))
        found = flipped(fold(values, None, None), flips, seed)
        single += bool(found.family.min() <= 0.05)
        stepped += bool(found.step_down.min() <= 0.05)
    assert 0.035 <= single / 1000 <= 0.055
    assert stepped == single, "nothing was taken, so nothing was left out"
