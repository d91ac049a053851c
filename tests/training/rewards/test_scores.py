import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.errors import BadReward
from sonde.training.rewards.scores import INVALID, Scores

part = st.floats(0, 1)


@given(part, part, part)
def test_the_reward_is_the_weighted_sum_behind_the_gate(b: float, c: float, d: float) -> None:
    assert Scores(True, b, c, d).reward == pytest.approx(0.50 * b + 0.05 * c + 0.45 * d)
    assert Scores(False, b, c, d).reward == 0


def test_everything_right_is_one_and_invalid_is_nothing() -> None:
    assert Scores(True, 1, 1, 1).reward == pytest.approx(1)
    assert INVALID.reward == 0
    assert INVALID.invalid


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_parts_outside_their_range_are_refused(value: float) -> None:
    with pytest.raises(BadReward, match="R_B"):
        Scores(True, b=value)
