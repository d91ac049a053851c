"""A run's story as a page: answers first, other people's text inert, no network."""

from html import escape, unescape

from sonde.results.story import QUESTIONS, answers, nulls
from sonde.results.story_page import chart, story_page
from tests.results.test_reward import result
from tests.results.told_story import story


def test_the_answers_come_first_and_the_nulls_are_on_it() -> None:
    page = story_page(story(), result())
    told = page.partition("</dl>")[0]
    for question, answer in zip(QUESTIONS, answers(story()), strict=True):
        assert question in told
        assert escape(answer) in told
    for null in nulls(story()):
        assert escape(null) in page
    assert "checkpoint-10" in page
    assert "has not moved" in page


def test_it_runs_no_script_and_what_others_wrote_is_inert() -> None:
    page = story_page(story(), result())
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert "one <run>" not in page
    assert "<b>" not in page.replace("<b></b>", "")
    assert "one <run>" in unescape(page)


def test_without_a_test_of_the_reward_it_says_why() -> None:
    page = story_page(story(reward=None), None)
    assert "Not measured: layer 0: nobody knows." in page


def test_a_bar_is_as_high_as_its_share_of_the_largest_and_a_gap_has_none() -> None:
    drawn = chart([1, 2, 3], [1.0, None, 0.5], "reward")
    assert drawn.count("<rect") == 2
    assert 'height="90.0"' in drawn
    assert 'height="45.0"' in drawn
    assert "No reward was recorded" in chart([1], [None], "reward")
