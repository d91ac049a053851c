"""A verdict follows from an interval and a tolerance, and from nothing else."""

import pytest

from sonde.replication.conduct import NEAR, inside, verdict
from sonde.replication.measures import Measured
from sonde.schema.replication import Between, Verdict

HALF = Between(low=0.5)


@pytest.mark.parametrize(
    ("low", "high", "tolerance", "wanted"),
    [
        (0.5, 0.9, HALF, "as found"),
        (0.49, 0.9, HALF, "unclear"),
        (0.1, 0.49, HALF, "differs"),
        (0.1, 0.5, HALF, "unclear"),
        (0.2, 0.4, Between(low=0.1, high=0.5), "as found"),
        (0.2, 0.6, Between(low=0.1, high=0.5), "unclear"),
        (0.6, 0.7, Between(low=0.1, high=0.5), "differs"),
        (-9.0, 9.0, Between(), "as found"),
    ],
)
def test_all_within_none_within_or_over_an_end(
    low: float, high: float, tolerance: Between, wanted: Verdict
) -> None:
    assert verdict(Measured((low + high) / 2, low, high, ""), tolerance) == wanted


def test_without_an_interval_there_is_no_verdict() -> None:
    assert verdict(Measured(0.9, None, None, ""), HALF) == "not measured"
    assert verdict(Measured(None, None, None, "why"), HALF) == "not measured"


def test_kernels_may_move_a_pinned_number_a_little() -> None:
    pinned = Between(low=0.2, high=0.4)
    assert inside(0.2 - NEAR / 2, pinned)
    assert not inside(0.2 - 2 * NEAR, pinned)
    assert not inside(0.4 + 2 * NEAR, pinned)
