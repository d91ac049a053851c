"""What tests of the reward found, beside the run."""

from pathlib import Path

from sonde.runs.kept_rewards import keep_reward, kept_rewards
from sonde.runs.layout import RunLayout
from sonde.schema.reward import RewardEffect, RewardFound


def found(*effects: tuple[int, float]) -> RewardFound:
    each = [
        RewardEffect(
            feature=feature, label=f"7:{feature}", effect=effect, low=None, high=None, p=None,
            p_alone=None, changed=0, random=[], beyond=None, beyond_low=None, beyond_high=None,
            p_random=None,
        )
        for feature, effect in effects
    ]  # fmt: skip
    return RewardFound(verdict="", reward=1.0, gate=None, prompts=2, effects=each)


def test_the_newest_test_of_each_feature_is_kept_by_checkpoint(tmp_path: Path) -> None:
    layout = RunLayout(tmp_path)
    assert kept_rewards(layout, 20).effects == {}
    keep_reward(layout, 20, found((1, -0.5), (2, 0.0)))
    path = keep_reward(layout, 20, found((2, -0.25)))
    keep_reward(layout, 10, found((3, 1.0)))
    kept = kept_rewards(layout, 20).effects
    assert {label: each.effect for label, each in kept.items()} == {"7:1": -0.5, "7:2": -0.25}
    path.write_text("{broken")
    assert kept_rewards(layout, 20).effects == {}
