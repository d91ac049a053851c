"""Intervals of what is no mean."""

import numpy as np
import pytest

from sonde.replication.drawn import drawn
from sonde.statistics import effects

RNG = np.random.default_rng(0)
CHANGES, GAPS = RNG.normal(1.0, 0.5, (30, 4)), RNG.uniform(2.0, 3.0, 30)
CLUSTERS = [f"c{number % 10}" for number in range(30)]


def test_of_a_ratio_of_means_it_is_what_statistics_say() -> None:
    found = drawn(CHANGES, GAPS, CLUSTERS, lambda means: means[:, 2])
    other = effects(
        CHANGES, denominators=GAPS, clusters=CLUSTERS, method="percentile", resamples=2000
    )
    assert found.value == pytest.approx(other.mean[2], rel=1e-12)
    assert found.low == pytest.approx(other.low[2], rel=1e-9)
    assert found.high == pytest.approx(other.high[2], rel=1e-9)


def test_of_a_maximum_it_is_over_the_maxima_of_the_draws() -> None:
    found = drawn(CHANGES, GAPS, CLUSTERS, lambda means: means.max(axis=1))
    mean = CHANGES.sum(axis=0) / GAPS.sum()
    assert found.value == pytest.approx(mean.max(), rel=1e-12)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= mean.max() <= found.high


def test_one_cluster_has_no_interval() -> None:
    found = drawn(CHANGES, GAPS, ["same"] * 30, lambda means: means[:, 0])
    assert found.value == pytest.approx(CHANGES[:, 0].sum() / GAPS.sum())
    assert (found.low, found.high) == (None, None)


def test_what_is_no_number_on_all_pairs_is_none() -> None:
    found = drawn(CHANGES, np.zeros(30), CLUSTERS, lambda means: means[:, 0])
    assert found == (None, None, None)


def test_the_same_seed_gives_the_same_bits() -> None:
    one, other = (drawn(CHANGES, GAPS, CLUSTERS, lambda m: m[:, 1]) for _ in "ab")
    assert one == other
