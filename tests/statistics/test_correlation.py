import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sonde.statistics.correlation import (
    MANY,
    correlation,
    passed_minus_failed,
    ranks,
    within_groups,
)
from tests.runs.analytics import plain

RNG = np.random.default_rng(0)
X = RNG.normal(size=40)
Y = 0.6 * X + RNG.normal(size=40)
GROUP = np.repeat(np.arange(10), 4)

NUMBERS = st.lists(st.integers(-50, 50), min_size=5, max_size=30)


@given(NUMBERS, st.randoms(use_true_random=False))
def test_both_r_are_those_of_the_textbook(values: list[int], random: object) -> None:
    x = np.array(values, dtype=float)
    y = x.copy()
    random.shuffle(y)  # type: ignore[attr-defined]
    assume(len(set(values)) > 2)
    found = correlation("all", x, y)
    assert found.pearson is not None
    assert found.spearman is not None
    assert found.pearson.r == pytest.approx(float(np.corrcoef(x, y)[0, 1]), abs=1e-12)
    rank_x, rank_y = plain.ranks(x.tolist()), plain.ranks(y.tolist())
    assert found.spearman.r == pytest.approx(float(np.corrcoef(rank_x, rank_y)[0, 1]), abs=1e-12)


def test_intervals_are_by_fisher_z() -> None:
    found = correlation("all", X, Y)
    assert found.pearson is not None
    assert found.spearman is not None
    r = float(np.corrcoef(X, Y)[0, 1])
    half = 1.959963984540054 / math.sqrt(len(X) - 3)
    assert found.pearson.low == pytest.approx(math.tanh(math.atanh(r) - half))
    assert found.pearson.high == pytest.approx(math.tanh(math.atanh(r) + half))
    r = found.spearman.r
    half *= math.sqrt(1 + r * r / 2)
    assert found.spearman.low == pytest.approx(math.tanh(math.atanh(r) - half))


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    """Of 400 samples with a true r of 0.6, 95 % give or take 5 standard deviations (5.4 %)."""
    hits = 0
    for _ in range(400):
        x = RNG.normal(size=30)
        y = 0.6 * x + 0.8 * RNG.normal(size=30)
        found = correlation("all", x, y).pearson
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= 0.6 <= found.high
    assert 400 * 0.896 <= hits <= 400


@pytest.mark.parametrize(
    ("x", "y", "why"),
    [
        ([1, 2, 3], [1, 2, 3], "3 generations are too few; at least 4"),
        ([1, 2, 3, 4], [0, 0, 0, 0], "R is the same"),
        ([5, 5, 5, 5], [1, 2, 3, 4], "reconstruction loss is the same"),
        ([], [], "0 generations"),
    ],
)
def test_what_has_no_r_says_why(x: list[float], y: list[float], why: str) -> None:
    found = correlation("failed", np.array(x, float), np.array(y, float))
    assert found.pearson is None
    assert found.spearman is None
    assert found.reason is not None
    assert why in found.reason


def test_points_on_a_line_have_no_interval() -> None:
    found = correlation("all", np.arange(6.0), -2 * np.arange(6.0))
    assert found.pearson is not None
    assert (found.pearson.r, found.pearson.low) == (-1.0, None)


def test_within_groups_means_are_taken_out_and_groups_of_one_left_out() -> None:
    x, y, group = np.append(X, 99.0), np.append(Y, -99.0), np.append(GROUP, 77)
    found = within_groups(x, y, group)
    means = [np.array([v[g == GROUP].mean() for g in range(10)])[GROUP] for v in (X, Y)]
    r = float(np.corrcoef(X - means[0], Y - means[1])[0, 1])
    assert (found.n, found.groups) == (40, 10)
    assert found.pearson is not None
    assert found.pearson.r == pytest.approx(r)
    half = 1.959963984540054 / math.sqrt(40 - 10 - 2)
    assert found.pearson.low == pytest.approx(math.tanh(math.atanh(r) - half))


def test_groups_that_differ_do_not_pass_for_generations_that_do() -> None:
    """Simpson's paradox: up between groups, down within them."""
    group = np.repeat(np.arange(5), 4)
    x = np.tile([0.0, 1, 2, 3], 5) + 10.0 * group
    y = -np.tile([0.0, 1, 2, 3.5], 5) + 10.0 * group
    between, within = correlation("all", x, y), within_groups(x, y, group)
    assert between.pearson is not None
    assert between.pearson.r > 0.9
    assert within.pearson is not None
    assert within.pearson.r < -0.9


def test_without_a_group_of_two_there_is_nothing_within() -> None:
    assert within_groups(X, Y, np.arange(40)).reason is not None
    assert within_groups(X[:0], Y[:0], GROUP[:0]).groups == 0


def test_passed_minus_failed_is_averaged_over_groups_with_both() -> None:
    loss = np.array([1.0, 3.0, 10.0, 5.0, 1.0, 7.0])
    passed = np.array([True, True, False, True, False, True])
    group = np.array([0, 0, 0, 1, 1, 2])
    found = passed_minus_failed(loss, passed, group)
    assert (found.groups, found.mean) == (2, ((2 - 10) + (5 - 1)) / 2)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= -2 <= found.high
    assert passed_minus_failed(loss, passed, group) == found, "the same every time"
    alone = passed_minus_failed(loss[:3], passed[:3], group[:3])
    assert (alone.groups, alone.mean, alone.low) == (1, -8.0, None)
    none = passed_minus_failed(loss, passed, np.arange(6))
    assert (none.mean, none.groups) == (None, 0)
    assert none.reason


def test_the_two_intervals_meet_where_one_takes_over() -> None:
    def interval(groups: int) -> tuple[float, float]:
        draw = np.random.default_rng(1).normal(size=groups)
        loss = np.stack([draw, np.zeros(groups)], axis=1).ravel()
        passed = np.tile([True, False], groups)
        found = passed_minus_failed(loss, passed, np.repeat(np.arange(groups), 2))
        assert found.low is not None
        assert found.high is not None
        return found.low, found.high

    assert interval(MANY) == pytest.approx(interval(MANY + 1), abs=0.02)


def test_equals_share_their_rank() -> None:
    assert ranks(np.array([3.0, 1.0, 3.0, 7.0])).tolist() == [2.5, 1.0, 2.5, 4.0]
