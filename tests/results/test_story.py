"""A run's story: every answer with its numbers, and every answer as a null."""

import re

import pytest
from rich.cells import cell_len

from sonde.results.story import (
    answers,
    carried,
    learned,
    lost,
    meaning,
    nulls,
    rewarded,
    since,
    story_lines,
)
from sonde.schema.analytics import Coefficient
from tests.cli.test_changed_view import changed, move
from tests.results.told_story import story


def test_what_it_learned_is_the_ends_of_the_run_and_whether_that_is_a_trend() -> None:
    said = learned(story())
    assert said.startswith("Mean reward 0.25 in step 1, 1.00 in step 5, the gate was passed by 50%")
    assert "it rose: rank correlation with the step 0.97, [0.60, 1.00]" in said
    assert "9 tokens of 2 completions gained +12.5 nats together" in said
    flat = story(trend=Coefficient(r=0.1, low=-0.5, high=0.6))
    assert "no trend: rank correlation" in learned(flat)
    fell = story(trend=Coefficient(r=-0.8, low=-0.9, high=-0.3))
    assert "it fell" in learned(fell)
    assert "cannot be told" in learned(story(trend=None))
    assert "not known" in rewarded(story(rewards=[None] * 5))


def test_a_carrier_is_named_with_its_share_of_the_gain() -> None:
    said = carried(story())
    assert "Of 2 features put back to what they were, 1 does more than random directions" in said
    assert "Followed: 15:7, which takes 40.0% of the gain away, 15:8, which takes 0.8%" in said


def test_a_followed_feature_says_what_it_is_brightest_on_and_what_it_promotes() -> None:
    each = story().followed[0]
    assert meaning(each) == ["promotes ·wood, <b>"]
    bright = each.model_copy(update={"bright_on": ["_", " [x"]})
    assert meaning(bright)[0] == "brightest on “_”, “·[x”"
    assert meaning(each.model_copy(update={"promotes": []})) == []


def test_where_nothing_is_beyond_chance_that_is_the_answer() -> None:
    none = "None of those that changed, as far as is known: of 2 features"
    assert carried(story(chosen="most")).startswith(none)
    assert carried(story(chosen="most", followed=[])).endswith("random directions as long do.")
    by_reward = carried(story(chosen="reward"))
    assert by_reward.startswith(none)
    assert by_reward.endswith("those that one gradient says move the reward most: 15:7, 15:8.")
    nothing = story(changed=changed(move(7, None, None)), followed=[], chosen="most")
    assert carried(nothing).startswith("No feature was put back")
    assert since(nothing) == "There is no feature to ask that of."
    assert lost(story(reward=None)) == "Not measured: layer 0: nobody knows."


def test_since_is_said_of_each_or_that_it_does_not_last() -> None:
    said = since(story())
    assert said == (
        "Of the checkpoints 10, 20: 15:7 changed beyond chance since checkpoint-20; beyond chance "
        "to the reward since checkpoint-20; 15:8 changed beyond chance at none that lasts."
    )
    both = since(story(followed=[story().followed[1]] * 2))
    assert both.endswith(" 20: 15:8 and 15:8 changed beyond chance at none that lasts.")
    first = story().followed[0].model_copy(update={"moved_since": 10})
    assert "since checkpoint-10, the first there is" in since(story(followed=[first]))


def test_what_completions_are_worth_stands_beside_the_verdict() -> None:
    assert "R is 0.50 at 10, 0.75 at 20." in lost(story())


def test_every_null_is_listed() -> None:
    told = list(nulls(story()))
    assert told[0].startswith("1 of 2 features that were put back do no more than")
    assert "15:8: putting it back takes no gain away beyond random directions." in told
    assert told[-1] == "layer 0: nobody knows"
    reward = story().reward
    assert reward is not None
    for effect in reward.effects:
        unsure = any(p is None or p > 0.05 for p in (effect.p, effect.p_random))
        assert any(f"Without {effect.label} the reward" in line for line in told) == unsure


@pytest.mark.parametrize("width", [50, 100])
def test_the_lines_fit_and_say_all_answers(width: int) -> None:
    lines = list(story_lines(story(), width))
    assert all(cell_len(line) <= width for line in lines)
    text = re.sub(r"\s+", " ", " ".join(lines))
    for answer in answers(story()):
        assert answer in text
