"""What the reward of a run hangs on: completions sampled with a feature changed, and graded.

A sweep with `reward` beside `features` grades no answer. Completions are sampled from a checkpoint
of a run on prompts that it was not trained on, without and with every feature changed at every
position, and graded by the run's own verifier. Completions of one prompt share their prompt and
their random numbers, so that what differs between them is what the change did.
"""

from typing import Annotated, Literal

from pydantic import Field, FiniteFloat

from sonde.schema.base import Whole, Wire


class RewardTest(Wire):
    """Which run, and how much is sampled."""

    run: str = Field(min_length=1, max_length=512)
    """By its name; in Python and on the command line also its directory."""
    step: Whole | None = Field(default=None, ge=0)
    """Its checkpoint; without it, the last."""
    prompts: Whole = Field(default=64, ge=2, le=4096)
    """How many; each is completed once for every feature and every random direction."""
    max_tokens: Whole | None = Field(default=None, ge=1, le=4096)
    """How long a completion may be; without it, as long as those of the run."""
    temperature: Annotated[FiniteFloat, Field(ge=0)] = 1.0
    """1 is what the run was trained at, 0 greedy."""


class RewardEffect(Wire):
    """What the reward owes to one feature."""

    feature: int
    label: str
    effect: float
    """The mean over the prompts of the reward with the feature changed, minus that without."""
    low: float | None
    high: float | None
    """Where that lies, 95 times in 100: by bootstrap over the prompts."""
    p: float | None
    """By flips of sign over the prompts, corrected over all features that were tested; null where
    no completion of any is graded otherwise."""
    p_alone: float | None
    """The same as if this had been the only one."""
    changed: int
    """Prompts whose completion is another one."""
    random: list[float]
    """The effect of each random direction, everywhere as long as what this feature's change is."""
    beyond: float | None
    """How far its effect is from the mean of theirs; null where there are none yet."""
    beyond_low: float | None
    beyond_high: float | None
    p_random: float | None
    """Whether that is chance: as `p`, the difference taken prompt by prompt."""


class RewardFound(Wire):
    """What has come of a test so far, and in the end."""

    verdict: str
    """In one sentence."""
    reward: float
    """The mean without any change."""
    gate: float | None
    """The share of completions that pass the gate then; null where the reward has none."""
    prompts: int
    effects: list[RewardEffect]
    """The largest first."""


class TableSampling(Wire):
    """Completions are being sampled: how far that is."""

    type: Literal["sampling"] = "sampling"
    label: str
    """What is changed in them, for people."""
    done: int
    """Completions that have ended."""
    of: int


class TableReward(Wire):
    """Another feature, or another random direction of all of them, has its completions."""

    type: Literal["reward"] = "reward"
    found: RewardFound
    """What has come of the test so far."""
