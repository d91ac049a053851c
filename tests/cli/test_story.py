"""`sonde runs story`: which features are followed, since when. A whole one: test_planted_truth."""

from pathlib import Path

from sonde.cli.story import at_checkpoint, bright_on, chosen_of, lasting, moved
from sonde.schema.changed import FeatureMove
from sonde.schema.feature import Feature, Part, Snippet
from tests.cli.shell import refusal, sonde
from tests.cli.test_changed_view import changed, move
from tests.results.test_reward import result
from tests.results.told_story import at
from tests.runs.analytics.made import made_run


def of_layer(layer: int, each: FeatureMove) -> FeatureMove:
    return each.model_copy(update={"layer": layer})


def test_those_beyond_chance_that_take_the_most_away_are_followed() -> None:
    found = changed(move(1, -9.0, 0.01), move(2, 3.0, 0.6), move(3, 2.0, 0.05), move(4, 1.0, 0.05))
    assert chosen_of(found, 1) == ([(15, 3)], True)
    assert chosen_of(found, 3) == ([(15, 3), (15, 4)], True)


def test_where_none_is_beyond_chance_the_most_stand_for_them_and_it_is_said() -> None:
    found = changed(move(1, -9.0, 0.6), move(2, 3.0, 0.6), move(3, None, None))
    assert chosen_of(found, 3) == ([(15, 2)], False)
    assert chosen_of(changed(move(1, -9.0, 0.01)), 3) == ([], False)


def test_all_are_of_the_layer_of_the_first() -> None:
    found = changed(of_layer(0, move(1, 2.0, 0.05)), move(2, 3.0, 0.05))
    assert chosen_of(found, 3) == ([(15, 2)], True)


def test_it_lasts_from_the_first_checkpoint_after_which_it_was_never_otherwise() -> None:
    sure, not_sure, against = at(5, 1.0, 0.05), at(5, 1.0, 0.2), at(5, -1.0, 0.05)
    later, last = at(10, 1.0, 0.05), at(20, 1.0, 0.01)
    assert lasting([sure, later, last], moved) == 5
    assert lasting([not_sure, later, last], moved) == 10
    assert lasting([sure, at(10, 1.0, 0.2), last], moved) == 20
    assert lasting([against, later, last], moved) == 10
    assert lasting([sure, later, at(20, 1.0, 0.2)], moved) is None
    assert lasting([sure, later, at(20, None, None)], moved) is None


def test_a_feature_that_has_not_moved_by_a_checkpoint_has_no_number_there() -> None:
    assert at_checkpoint(5, changed(move(7, 1.0, 0.05)), None, (15, 8)).undone is None
    assert at_checkpoint(5, changed(move(7, 1.0, 0.05)), result(), (15, 7)).undone == 1.0


def test_it_is_brightest_on_the_tokens_that_top_its_most_active_snippets() -> None:
    """The most frequent first; a snippet in which it is barely active says nothing of that."""

    def snippet(heat: str, part: Part = "top") -> Snippet:
        return Snippet(tokens=["a", "_", "b"], heat=heat, value=1.0, part=part)

    snippets = [snippet("903"), snippet("190"), snippet("091"), snippet("009", "low")]
    card = Feature(feature=7, rate=0.1, promoted=[], suppressed=[], snippets=snippets)
    assert bright_on(card) == ["_", "a"]


def test_what_cannot_be_told_is_one_line(tmp_path: Path) -> None:
    made_run(tmp_path / "run", steps=2, save_every=9)
    assert "no checkpoint to compare" in refusal(sonde("runs", "story", tmp_path / "run"))
    asked = ("runs", "story", tmp_path / "run", "--save", "story.pdf")
    assert "the suffix is none of .html, .json" in refusal(sonde(*asked))
