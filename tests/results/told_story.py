"""A run's story with known numbers: one feature that carries something, one that does not."""

from typing import Any

from sonde.schema.analytics import Coefficient
from sonde.schema.reward import RewardEffect
from sonde.schema.story import AtCheckpoint, Followed, Story
from tests.cli.test_changed_view import changed, move
from tests.results.test_reward import result


def effect(value: float, p: float) -> RewardEffect:
    return RewardEffect(
        feature=7, label="15:7", effect=value, low=None, high=None, p=p, p_alone=p, changed=3,
        random=[-0.125, 0.0], beyond=value, beyond_low=None, beyond_high=None, p_random=p,
    )  # fmt: skip


def at(step: int, undone: float | None, p: float | None, owed: float | None = None) -> AtCheckpoint:
    reward = None if owed is None else effect(owed, 0.01)
    return AtCheckpoint(step=step, undone=undone, random=[-0.5, 0.25], p_family=p, reward=reward)


def followed(feature: int, since: int | None, *course: AtCheckpoint) -> Followed:
    return Followed(
        layer=15, feature=feature, promotes=[" wood", "<b>"], activity=[0.0, None, 1.0, 2.0, 4.0],
        course=list(course), moved_since=since, needed_since=since,
    )  # fmt: skip


def story(**changes: Any) -> Story:
    """Rewards that rise over five steps; 15:7 undoes 5 of 12.5 nats since checkpoint-20."""
    whole = Story(
        made=0.0,
        run="one <run>",
        steps=[1, 2, 3, 4, 5],
        rewards=[0.25, 0.5, 0.5, 0.75, 1.0],
        gates=[0.5, 0.5, None, 0.75, 1.0],
        trend=Coefficient(r=0.97, low=0.6, high=1.0),
        changed=changed(move(7, 5.0, 0.05), move(8, 0.1, 0.6)),
        gains=[(10, 8.0), (20, 12.5)],
        held_out=[(10, 0.5), (20, 0.75)],
        followed=[
            followed(7, 20, at(10, 4.0, 0.5, 0.0), at(20, 5.0, 0.05, -0.25)),
            followed(8, None, at(10, None, None), at(20, 0.1, 0.6)),
        ],
        chosen="put back",
        reward=result().reward,
        reasons=["layer 0: nobody knows"],
    )
    return whole.model_copy(update=changes)
