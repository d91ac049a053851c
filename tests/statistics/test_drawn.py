"""Intervals of what is no mean."""

import numpy as np
import pytest

from sonde.statistics import effects
from sonde.statistics.clusters import Numbers
from sonde.statistics.drawn import drawn

RNG = np.random.default_rng(0)
VALUES, GAPS = RNG.normal(1.0, 0.5, (30, 4)), RNG.uniform(2.0, 3.0, 30)
CLUSTERS = [f"c{number % 10}" for number in range(30)]


def test_of_a_ratio_of_means_it_is_what_effects_say() -> None:
    found = drawn(VALUES, lambda means: means[:, 2], denominators=GAPS, clusters=CLUSTERS)
    other = effects(
        VALUES, denominators=GAPS, clusters=CLUSTERS, method="percentile", resamples=2000
    )
    assert found == pytest.approx((other.mean[2], other.low[2], other.high[2]), rel=1e-9)


def test_of_a_maximum_it_is_over_the_maxima_of_the_draws() -> None:
    found = drawn(VALUES, lambda means: means.max(axis=1), denominators=GAPS, clusters=CLUSTERS)
    largest = (VALUES.sum(axis=0) / GAPS.sum()).max()
    assert found.value == pytest.approx(largest, rel=1e-12)
    alone = drawn(VALUES, lambda means: means[:, 0], denominators=GAPS, clusters=CLUSTERS)
    assert found.low is not None
    assert alone.low is not None
    assert found.low >= alone.low, "a maximum is at least any of its cells, in every draw"


def test_one_cluster_has_no_interval() -> None:
    found = drawn(VALUES, lambda means: means[:, 0], clusters=["same"] * 30)
    assert found.value == pytest.approx(VALUES[:, 0].mean())
    assert (found.low, found.high) == (None, None)


def test_where_some_draws_have_no_number_there_is_no_interval() -> None:
    def over_one(means: Numbers) -> Numbers:
        found: Numbers = np.where(means[:, 0] > VALUES[:, 0].mean() - 0.05, means[:, 0], np.nan)
        return found

    found = drawn(VALUES, over_one)
    assert found.value is not None
    assert (found.low, found.high) == (None, None)
    assert drawn(VALUES, lambda m: m[:, 0], denominators=np.zeros(30)) == (None, None, None)


def test_the_same_seed_gives_the_same_bits_and_another_others() -> None:
    one, same, other = (drawn(VALUES, lambda m: m[:, 1], seed=seed) for seed in (0, 0, 1))
    assert one == same != other
