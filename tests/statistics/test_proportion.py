"""Bounds of a share are scipy's, and hold."""

import pytest
from scipy import stats

from sonde.errors import BadRequest
from sonde.statistics import most_of
from sonde.statistics.proportion import interval_of


@pytest.mark.parametrize(("seen", "n"), [(0, 1), (0, 100), (3, 50), (49, 50), (7, 7)])
def test_the_bound_is_that_of_scipy(seen: int, n: int) -> None:
    theirs = stats.binomtest(seen, n, alternative="less").proportion_ci(0.95, method="exact")
    assert most_of(seen, n) == pytest.approx(theirs.high)


def test_nothing_seen_in_a_hundred_leaves_three_per_cent() -> None:
    assert most_of(0, 100) == pytest.approx(1 - 0.05 ** (1 / 100))


def test_no_share_has_no_bound() -> None:
    with pytest.raises(BadRequest, match="5 of 3 is no share"):
        most_of(5, 3)
    with pytest.raises(BadRequest, match="0 of 0"):
        most_of(0, 0)
    with pytest.raises(BadRequest, match="level is 1"):
        most_of(0, 5, level=1)


@pytest.mark.parametrize(("seen", "n"), [(0, 10), (3, 50), (49, 50), (24, 24)])
def test_the_interval_is_that_of_scipy_and_has_a_width_for_all(seen: int, n: int) -> None:
    theirs = stats.binomtest(seen, n).proportion_ci(0.95, method="wilson")
    low, high = interval_of(seen, n)
    assert (low, high) == (pytest.approx(theirs.low), pytest.approx(theirs.high))  # type: ignore[comparison-overlap]
    assert high - low > 0.01
    with pytest.raises(BadRequest, match="is no share"):
        interval_of(n + 1, n)
