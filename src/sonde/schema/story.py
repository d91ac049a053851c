"""A run as a story: what it learned, which features carry it, since when, what reward they bring.

Everything in it was measured by parts that stand by themselves: two checkpoints compared, features
put back, the reward without a feature. Here they are of the same features.
"""

from typing import Literal

from sonde.schema.analytics import Coefficient
from sonde.schema.base import Wire
from sonde.schema.changed import Changed
from sonde.schema.reward import RewardEffect, RewardFound

Chosen = Literal["put back", "reward", "most"]


class AtCheckpoint(Wire):
    """What became of a feature by one checkpoint."""

    step: int
    undone: float | None
    """What of the gain goes there when it is put back to what it was at the beginning; null where
    it has not moved by then."""
    random: list[float]
    """The same of random directions, each as long as what was put back."""
    p_family: float | None
    """Corrected over the features that were put back with it."""
    reward: RewardEffect | None
    """What the reward owes to it there, on prompts the run was not trained on; null where that was
    not tested."""


class Followed(Wire):
    """A feature that was followed through the run."""

    layer: int
    feature: int
    promotes: list[str]
    """Tokens that its decoder row raises, where its dictionary is described."""
    bright_on: list[str] = []
    """The tokens it is brightest on in the text it was described on, the most frequent first."""
    activity: list[float | None]
    """Its mean activation over the recorded tokens of each step, in the order of `steps`."""
    course: list[AtCheckpoint]
    moved_since: int | None
    """The first checkpoint from which on putting it back undoes more than random directions do, at
    every later one too; null where it does not at the last."""
    needed_since: int | None
    """The first from which on the reward hangs on it, at every later one too."""


class Story(Wire):
    """What became of a run between the model it began as and its last checkpoint."""

    format: Literal["sonde.story.1"] = "sonde.story.1"
    made: float
    """Seconds since 1970."""
    run: str
    steps: list[int]
    rewards: list[float | None]
    """The mean reward of each step."""
    gates: list[float | None]
    """The share of completions that passed the gate."""
    trend: Coefficient | None
    """How the mean reward goes with the step, by rank."""
    changed: Changed
    gains: list[tuple[int, float]]
    """How far the log-probability of the run's texts had risen at each checkpoint."""
    held_out: list[tuple[int, float]]
    """The mean reward at each checkpoint on prompts the run was not trained on."""
    followed: list[Followed]
    chosen: Chosen
    """How: they undo more than random directions do; or none does, and a gradient says that the
    reward is moved most by these; or that was not to be had, and these undo the most."""
    reward: RewardFound | None
    """What the reward owes to them at the last checkpoint."""
    reasons: list[str]
    """What could not be told, and why."""
