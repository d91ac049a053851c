"""What rewards of completions say of features, on numbers whose answer is known."""

import numpy as np
import pytest

from sonde.reward.found import matters, reward_found
from sonde.schema.reward import RewardFound

N = 64
DRAW = np.random.default_rng(0)
WITHOUT = DRAW.uniform(0.6, 1.0, N)


def told(changed: dict[int, np.ndarray], random: dict[int, list[np.ndarray]]) -> RewardFound:
    labels = {feature: f"7:{feature}" for feature in changed}
    others = dict.fromkeys(changed, 3)
    return reward_found(labels, WITHOUT, [True] * 48 + [False] * 16, changed, random, others)


def noisy(shift: float, seed: int) -> np.ndarray:
    return WITHOUT + shift + np.random.default_rng(seed).normal(0, 0.1, N)


def test_a_feature_that_costs_more_than_random_directions_is_named_with_both_p() -> None:
    random = {f: [noisy(0, 10 * f + k) for k in range(4)] for f in (1, 2)}
    found = told({1: noisy(0, 1), 2: noisy(-0.3, 2)}, random)
    first, second = found.effects
    assert (first.feature, second.feature) == (2, 1)
    assert matters(first)
    assert not matters(second)
    assert first.low is not None
    assert first.high is not None
    assert first.low < -0.3 + 0.05
    assert first.high < -0.2
    assert first.p == pytest.approx(1 / 10001)
    assert first.p_random == pytest.approx(1 / 10001)
    assert first.beyond == pytest.approx(first.effect - np.mean(first.random))
    assert found.verdict.startswith("The reward hangs on 7:2: with it changed, R goes from 0.8")
    assert found.gate == 0.75
    assert found.prompts == N
    assert found.reward == pytest.approx(WITHOUT.mean())


def test_what_any_change_as_long_does_is_no_reason() -> None:
    """Removing it costs a lot, and so does everything else as long."""
    random = {1: [noisy(-0.3, 20 + k) for k in range(4)]}
    found = told({1: noisy(-0.3, 1)}, random)
    [only] = found.effects
    assert only.p is not None
    assert only.p < 0.001
    assert only.p_random is not None
    assert only.p_random > 0.05
    assert not matters(only)
    assert found.verdict.startswith("7:1 is not seen to move the reward beyond chance and beyond")


def test_p_is_corrected_over_all_features_that_were_tested() -> None:
    weak = noisy(-0.03, 4)
    alone = told({1: weak}, {}).effects[0]
    beside = {f: noisy(0, 30 + f) for f in range(2, 30)}
    among = next(e for e in told({1: weak, **beside}, {}).effects if e.feature == 1)
    assert among.p_alone == alone.p_alone == alone.p
    assert among.p is not None
    assert alone.p is not None
    assert among.p > alone.p


def test_what_stands_beside_nothing_is_said_to_be_any_change() -> None:
    found = told({1: noisy(-0.3, 1)}, {})
    assert "no random directions stand beside it" in found.verdict
    assert found.effects[0].p_random is None
    assert told({1: WITHOUT.copy()}, {}).effects[0].effect == 0.0
    assert told({}, {}).verdict == "Nothing is known yet."
