"""One scale for all hooks."""

import pytest

from sonde.results.scale import Scale
from tests.results.summaries import sweep


def test_the_scale_is_symmetric_about_the_corrupt_baseline() -> None:
    scale = Scale.of(sweep())
    assert (scale.low, scale.high, scale.baseline) == (-5.5, -1.0, -5.0)
    assert scale.limits == (-9.0, -1.0)
    assert [scale.place(value) for value in (-9.0, -5.0, -1.0)] == [-1, 0, 1]


def test_recovered_is_measured_from_zero_whatever_the_log_probabilities_are() -> None:
    scale = Scale.of(sweep({"mlp_out": [[0.25, 1.0]]}, metric="recovered", corrupt=-5.0))
    assert scale.baseline == 0
    assert scale.place(0.25) == 0.25


def test_all_hooks_share_the_largest_reach() -> None:
    scale = Scale.of(sweep({"pre_attn": [[-4.0]], "mlp_out": [[-7.0]]}))
    assert scale.reach == 2.0
    assert scale.place(-4.0) == 0.5


def test_without_a_baseline_it_runs_from_the_least_to_the_greatest() -> None:
    scale = Scale.of(sweep(corrupt=None))
    assert scale.kind == "sequential"
    assert [scale.place(value) for value in (-5.5, -1.0)] == [0, 1]
    assert scale.change(-1.0) == ""


def test_a_grid_that_equals_its_baseline_is_neutral_everywhere() -> None:
    scale = Scale.of(sweep({"mlp_out": [[-5.0, -5.0]]}))
    assert scale.place(-5.0) == 0
    assert scale.limits == (-6.0, -4.0)


def test_a_grid_of_nulls_has_a_scale() -> None:
    assert Scale.of(sweep({"mlp_out": [[None]]}, corrupt=None)).limits == (0.0, 1.0)


@pytest.mark.parametrize(("value", "noisy"), [(-5.0, True), (-4.9, True), (-5.2, False)])
def test_a_value_is_noise_when_it_is_no_farther_than_the_floor(value: float, noisy: bool) -> None:
    assert Scale(-6, -4, baseline=-5.0, noise=0.125).is_noise(value) is noisy


def test_nothing_is_noise_when_the_floor_is_zero() -> None:
    assert not Scale(-6, -4, baseline=-5.0, noise=0.0).is_noise(-5.0)


def test_values_have_the_decimals_that_the_reach_needs() -> None:
    scale = Scale(-5.0, -4.955, baseline=-5.0)
    assert scale.text(-4.955) == "−4.9550"
    assert scale.change(-4.955) == "+0.0450"
