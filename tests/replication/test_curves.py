"""Curves drawn by hand, and what is said of them."""

import numpy as np
import pytest

from sonde.replication.curves import crossed, highest, mean_depth, ratio, weakest

DOWN, UP = np.array([[1.0, 1.0, 0.6, 0.2, 0.0]]), np.array([[0.0, 0.1, 0.3, 0.9, 1.0]])
DEPTH = np.array([0.0, 0.25, 0.5, 0.75, 1.0])


def test_the_second_passes_the_first_where_it_stays_above() -> None:
    assert crossed(DOWN, UP) == pytest.approx(0.75)
    back = np.array([[0.0, 2.0, 0.3, 0.9, 1.0]])  # above once, and below again
    assert crossed(DOWN, back) == pytest.approx(0.75)
    assert crossed(UP - 2, DOWN) == 0.0, "above from the beginning"
    assert np.isnan(crossed(UP, DOWN)), "never above at the end"


def test_a_relay_is_as_strong_as_its_weakest_layer() -> None:
    assert weakest(DOWN, UP) == pytest.approx(0.6)
    assert weakest(DOWN, DOWN) == 0.0


def test_a_ratio_is_of_the_highest_points_wherever_they_are() -> None:
    assert ratio(0.5 * DOWN, UP) == pytest.approx(0.5)
    assert np.isnan(ratio(DOWN, -UP)), "nothing to divide by"


def test_depths_are_those_of_the_highest_and_of_the_weighted_mean() -> None:
    assert highest(UP, DEPTH) == 1.0
    two = np.array([[0.0, 1.0, 0.0, 3.0, -9.0]])
    assert mean_depth(two, DEPTH) == pytest.approx((0.25 + 3 * 0.75) / 4)
    assert np.isnan(mean_depth(-np.ones((1, 5)), DEPTH))


def test_every_draw_is_taken_by_itself() -> None:
    both = np.concatenate([DOWN, UP])
    assert highest(both, DEPTH).tolist() == [0.0, 1.0]
    assert weakest(both, both).tolist() == [0.0, 0.0]
