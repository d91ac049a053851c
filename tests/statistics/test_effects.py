"""One call: every number of a cell, or None and why."""

import math
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sonde.errors import BadRequest
from sonde.statistics import effects
from sonde.statistics.clusters import fold, places
from sonde.statistics.permutation import adjusted

RNG = np.random.default_rng(0)
VALUES = RNG.normal(0.3, 1, (40, 6))
NUMBER = st.sampled_from([0.0, 1.0, -1.0, 0.1, 1e-9, 3e5, -2.5, math.nan])


def test_a_cell_has_its_mean_its_t_and_its_share_of_positive_pairs() -> None:
    found = effects(VALUES, resamples=500)
    assert found.mean == pytest.approx(VALUES.mean(axis=0))
    assert found.t == pytest.approx(stats.ttest_1samp(VALUES, 0).statistic)
    assert found.share_positive == pytest.approx((VALUES > 0).mean(axis=0))
    assert (found.trials, found.clusters, found.n, found.notes) == (40, 40, (40,) * 6, ())
    assert found.reasons == (None,) * 6


def test_q_is_that_of_scipy_over_the_cells_own_p() -> None:
    found = effects(VALUES, resamples=500)
    assert found.q == pytest.approx(stats.false_discovery_control(np.array(found.p_alone)))
    p = RNG.random(50)
    assert adjusted(p) == pytest.approx(stats.false_discovery_control(p))


def test_a_ratio_of_means_is_no_mean_of_ratios() -> None:
    under = np.abs(RNG.normal(size=40)) + 0.01
    found = effects(VALUES[:, 0], denominators=under, resamples=500)
    assert found.mean[0] == pytest.approx(VALUES[:, 0].mean() / under.mean())
    assert found.p_alone == effects(VALUES[:, 0], resamples=500).p_alone, "tests are of numerators"
    assert found.share_positive[0] == pytest.approx((VALUES[:, 0] > 0).mean())


def test_a_ratio_without_a_denominator_says_why_it_is_none() -> None:
    nothing = effects(VALUES[:, 0], denominators=np.zeros(40), resamples=500)
    assert (nothing.mean, nothing.low) == ((None,), (None,))
    assert nothing.reasons == ("what it is divided by is 0",)
    shaky = effects(VALUES[:, 0], denominators=RNG.normal(size=40), resamples=500)
    assert shaky.mean[0] is not None
    assert shaky.low == (None,)
    assert "changes its sign" in str(shaky.reasons[0])


def test_a_cell_that_nobody_has_is_none_and_leaves_the_others_as_they_are() -> None:
    holes = VALUES.copy()
    holes[:, 2] = np.nan
    holes[:9, 4] = np.nan
    found = effects(holes, resamples=500)
    assert found.n == (40, 40, 0, 40, 31, 40)
    assert (found.mean[2], found.p[2], found.q[2]) == (None, None, None)
    assert found.reasons[2] == "no trial has a number here"
    assert found.mean[4] == pytest.approx(holes[9:, 4].mean())
    without = effects(np.delete(holes, 2, axis=1), resamples=500)
    assert tuple(p for p in found.p if p is not None) == without.p


def test_one_pair_has_a_mean_and_nothing_to_go_by() -> None:
    found = effects(VALUES[:1], resamples=500)
    assert found.mean == pytest.approx(VALUES[0])
    assert found.low == (None,) * 6
    assert found.p == (1.0,) * 6
    assert "alone has no interval" in str(found.reasons[0])


def test_few_clusters_are_said_to_be_few() -> None:
    found = effects(VALUES, clusters=["a", "b", "c", "d"] * 10, resamples=500)
    assert found.clusters == 4
    assert found.exhaustive
    assert found.notes == (
        "4 clusters are few: a bootstrap interval over fewer than 20 is too narrow",
        "with 4 clusters no p can be below 0.125",
    )


def test_a_pair_without_a_cluster_is_one_of_its_own() -> None:
    assert places(["a", None, "a", None], 4).tolist() == [0, 1, 0, 2]
    assert fold(VALUES[:4], None, ["a", None, "a", None]).sums[0] == pytest.approx(
        VALUES[0] + VALUES[2]
    )


@settings(deadline=None, max_examples=60)
@given(st.lists(st.lists(NUMBER, min_size=3, max_size=3), min_size=1, max_size=8))
def test_nan_never_comes_out(values: list[list[float]]) -> None:
    found = effects(values, resamples=100, flips=100)
    for field in fields(found):
        numbers = getattr(found, field.name)
        if isinstance(numbers, tuple):
            assert not any(isinstance(one, float) and math.isnan(one) for one in numbers)
    for cell in range(3):
        missing = {found.mean[cell], found.low[cell], found.t[cell], found.p[cell]} & {None}
        assert not missing or found.reasons[cell]


def test_what_cannot_be_counted_is_refused_in_one_line() -> None:
    with pytest.raises(BadRequest, match="infinite in trial 1, cell 0"):
        effects([[1.0], [math.inf]])
    with pytest.raises(BadRequest, match=r"shape \(0, 1\)"):
        effects([])
    with pytest.raises(BadRequest, match="3 clusters for 40 trials"):
        effects(VALUES, clusters=["a", "b", "c"])
    with pytest.raises(BadRequest, match="one for each trial"):
        effects(VALUES, denominators=[1.0, 2.0])
    with pytest.raises(BadRequest, match="there are 'percentile' and 'bca'"):
        effects(VALUES, method="normal")  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match="level is 95"):
        effects(VALUES, level=95)
    with pytest.raises(BadRequest, match="100 or more"):
        effects(VALUES, resamples=10)
