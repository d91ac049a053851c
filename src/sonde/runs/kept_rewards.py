"""What tests of the reward found, kept beside the run: `changed/reward-20.json`, by checkpoint.

One entry a feature, the newest test of it. What changed between two checkpoints tells of a feature
what the reward owes to it, where that was tested on the later one. Nothing is loaded here.
"""

from pathlib import Path

from pydantic import Field, ValidationError

from sonde.runs.atomic import replace
from sonde.runs.layout import RunLayout
from sonde.schema.records import Filed
from sonde.schema.reward import RewardEffect, RewardFound


class KeptRewards(Filed):
    """The effects of features on one checkpoint, by their labels: `15:748`."""

    effects: dict[str, RewardEffect] = Field(default_factory=dict)


def keep_reward(layout: RunLayout, step: int, found: RewardFound) -> Path:
    """Keep what was found with the run. -> where it is"""
    there = kept_rewards(layout, step).effects
    layout.changed.mkdir(exist_ok=True)
    whole = KeptRewards(effects=there | {each.label: each for each in found.effects})
    path = _path(layout, step)
    replace(path, whole.model_dump_json(indent=1).encode())
    return path


def kept_rewards(layout: RunLayout, step: int) -> KeptRewards:
    """What is kept of a checkpoint; nothing where nobody has tested, or it cannot be read."""
    try:
        return KeptRewards.model_validate_json(_path(layout, step).read_bytes())
    except (OSError, ValidationError):
        return KeptRewards()


def _path(layout: RunLayout, step: int) -> Path:
    return layout.changed / f"reward-{step}.json"
