"""From log-probabilities to the numbers people read."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.engine.metrics import Grading, extreme
from sonde.schema import Grid, Metric

numbers = st.floats(-50, 0)
GRADING = Grading(corrupt=-4.0, clean=-1.0)


def test_logprob_is_the_answers_and_logit_diff_the_answers_minus_the_foils() -> None:
    assert GRADING.value("logprob", [-2.0, -5.0]) == -2.0
    assert GRADING.value("logit_diff", [-2.0, -5.0]) == 3.0


def test_recovered_is_zero_at_the_corrupt_baseline_and_one_at_the_clean_one() -> None:
    assert GRADING.value("recovered", [-4.0]) == 0.0
    assert GRADING.value("recovered", [-1.0]) == 1.0
    assert GRADING.value("recovered", [-2.5]) == 0.5
    assert GRADING.value("recovered", [-7.0]) == -1.0  # not clipped
    assert GRADING.value("recovered", [-1.0, -9.0]) == 1.0  # of the answer, whatever the foil


@given(numbers, numbers, numbers)
def test_recovered_times_the_gap_is_the_distance_from_corrupt(
    corrupt: float, clean: float, answer: float
) -> None:
    grading = Grading(corrupt, clean)
    value = grading.value("recovered", [answer])
    if abs(clean - corrupt) < 1e-9:
        assert value is None
    else:
        assert value is not None
        assert value * (clean - corrupt) == pytest.approx(answer - corrupt, abs=1e-6)


@pytest.mark.parametrize(
    ("grading", "reason"),
    [
        (Grading(-4.0, None), "needs a clean baseline"),
        (Grading(-4.0, -4.0), "divides by clean - corrupt, and they are -4 and -4"),
        (Grading(-4.0, -4.0 - 1e-12), "divides by"),
        (Grading(-4.0, -math.inf), "not a finite number"),
        (Grading(-4.0, math.nan), "not a finite number"),
    ],
)
def test_where_recovered_has_no_meaning_it_is_null_and_says_why(
    grading: Grading, reason: str
) -> None:
    assert grading.value("recovered", [-2.0]) is None
    assert reason in (grading.why_no_recovery() or "")
    assert grading.scale("recovered") == 1.0


def test_where_it_has_one_there_is_no_reason() -> None:
    assert GRADING.why_no_recovery() is None
    assert GRADING.scale("recovered") == 3.0
    assert GRADING.scale("logprob") == 1.0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("metric", ["logprob", "logit_diff", "recovered"])
def test_what_is_not_finite_is_null(metric: Metric, bad: float) -> None:
    assert GRADING.value(metric, [bad, -1.0]) is None
    if metric == "logit_diff":
        assert GRADING.value(metric, [-1.0, bad]) is None


LAYERS, POSITIONS = [4, 2], [7, 0, 9]


def best(grid: Grid, sign: int) -> tuple[int, int, float] | None:
    found = extreme(grid, LAYERS, POSITIONS, sign)
    return None if found is None else (found.layer, found.position, found.value)


def test_extremes_are_named_by_layer_and_position() -> None:
    grid: Grid = [[0.0, 1.0, 2.0], [3.0, -4.0, 0.0]]

    assert best(grid, 1) == (2, 7, 3.0)
    assert best(grid, -1) == (2, 0, -4.0)


def test_of_equals_the_first_in_reading_order_is_taken() -> None:
    grid: Grid = [[0.0, 5.0, 5.0], [5.0, 0.0, 0.0]]

    assert best(grid, 1) == (4, 0, 5.0)
    assert best(grid, -1) == (4, 7, 0.0)


def test_nulls_are_passed_over_and_alone_give_nothing() -> None:
    assert best([[None, -3.0, None], [None, -7.0, None]], 1) == (4, 0, -3.0)
    assert best([[None, -3.0, None], [None, -7.0, None]], -1) == (2, 0, -7.0)
    assert best([[None] * 3] * 2, 1) is None
    assert best([[None] * 3] * 2, -1) is None
