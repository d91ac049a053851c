"""Effects of features and what they are worth, from the tables of a sweep."""

import pytest

from sonde.errors import BadRequest
from sonde.results.feature_table import feature_effects, p_value
from tests.results.features import PLACES, RANDOM, REMOVED, feature_sweep, table


def test_effects_are_changes_from_the_baseline_the_largest_first() -> None:
    first, second = feature_effects(feature_sweep())

    assert (first.feature, first.label) == (1740, "15:1740")
    assert first.effects == {1: -0.5, 2: -0.25}
    assert first.activations == {1: 3.0, 2: 2.0}
    assert first.everywhere == -0.75
    assert first.random == (-0.5, 1.0)
    assert second.effects == {2: 0.25}  # at position 1 it is not active
    assert second.random == (-0.25, 0.5)


@pytest.mark.parametrize(
    ("effect", "random", "expected"),
    [
        (0.5, [0.1, -0.2, 0.4], 1 / 4),
        (-0.5, [0.5, -0.6, 0.4], 3 / 4),  # as much in either direction counts
        (0.0, [0.0, 0.0], 1.0),
        (0.5, [], 1.0),
        (None, [0.5], None),
        (0.5, [0.1, None], None),
    ],
)
def test_p_counts_the_random_directions_that_do_as_much_and_the_feature_itself(
    effect: float | None, random: list[float | None], expected: float | None
) -> None:
    assert p_value(effect, random) == expected


def test_p_of_a_feature_is_of_its_own_random_directions() -> None:
    assert [each.p for each in feature_effects(feature_sweep())] == [2 / 3, 1.0]
    assert [each.p for each in feature_effects(feature_sweep([REMOVED]))] == [1.0, 1.0]


def test_a_number_that_is_not_finite_is_none_and_so_is_its_p() -> None:
    axes = REMOVED.axes
    broken = table("cells", axes, [None, 0.25, 0.25, -0.5, None, None], REMOVED.activations)
    first, second = feature_effects(feature_sweep([broken, RANDOM]))

    assert first.feature == 9
    assert second.effects == {1: -0.5, 2: None}
    assert second.everywhere is None
    assert second.p is None


def test_a_sweep_over_sites_has_no_effects_of_features() -> None:
    with pytest.raises(BadRequest, match="no table of features"):
        feature_effects(feature_sweep([table("cells", [PLACES], [0.1, 0.2, 0.3])]))
