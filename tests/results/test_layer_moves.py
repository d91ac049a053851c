"""Which layers carry a gain, in words and as a picture."""

import pytest

from sonde.cli.changed_view import changed_page
from sonde.results.layer_moves import nulls, where
from sonde.results.story import carried
from sonde.results.story import nulls as story_nulls
from sonde.results.story_page import layers_chart, story_page
from sonde.schema.changed import Changed, LayerMove
from tests.cli.test_changed_view import changed, move
from tests.results.told_story import story


def layer(number: int, undone: float, p: float, *, features: bool = False) -> LayerMove:
    return LayerMove(
        layer=number, what="all features" if features else "all + error", undone=undone,
        random=[-0.5, 0.25], p=p, p_family=p,
    )  # fmt: skip


def in_layers(*layers: LayerMove) -> Changed:
    return changed(move(7, 0.1, 0.6)).model_copy(update={"layers": list(layers)})


LATE = in_layers(
    layer(0, -0.1, 0.6), layer(1, -2.0, 0.05), layer(2, 3.75, 0.05), layer(3, 12.5, 0.05),
    layer(1, -0.5, 0.3, features=True), layer(2, 2.5, 0.05, features=True),
)  # fmt: skip


def test_the_first_layer_that_takes_gain_away_is_named_and_the_watched_ones_stand_beside() -> None:
    assert where(LATE) == (
        "Put back whole where these tokens are decided, layer 2 is the first to take more of the "
        "gain away than random directions as long do (+3.8, corrected p 0.0500). Of those that "
        "were watched, 1 takes nothing away; 2 takes +3.8 whole, +2.5 with all its features at "
        "once."
    )


def test_a_layer_that_was_watched_and_takes_nothing_away_is_a_null() -> None:
    """Putting it back makes the gain larger: that is none of it either."""
    [told] = nulls(LATE)
    assert told.startswith(
        "Layer 1, put back whole, takes −2.0 of the gain away, random directions as long −0.5 to"
    )
    assert told in story_nulls(story(changed=LATE))


def test_no_layer_is_named_where_none_is_beyond_chance_and_nothing_is_said_of_older_files() -> None:
    assert where(in_layers(layer(0, 1.0, 0.2))).startswith("No layer, put back whole where")
    assert where(changed(move(7, 0.1, 0.6))) == ""
    assert list(nulls(changed())) == []


def test_a_story_says_the_layers_before_the_features() -> None:
    said = carried(story(changed=LATE, chosen="most"))
    assert said.startswith("Put back whole")
    assert " None of those that changed, as far as is known: of 1 features" in said
    page = story_page(story(changed=LATE, chosen="most"))
    assert "<title>layer 3: +12.50</title>" in page
    assert "<title>layer 3" not in story_page(story())


def test_bars_are_as_long_as_what_they_stand_for() -> None:
    """From 0: up for what is taken away, down for what is added, grey for random directions."""
    svg = layers_chart([layer(0, 4.0, 0.05), layer(1, -1.0, 0.05)])
    heights = [float(part.split('"')[0]) for part in svg.split('height="')[1:]]
    assert heights == pytest.approx([130 * 0.75 / 5, 130 * 4 / 5, 130 * 0.75 / 5, 130 / 5], abs=0.1)


@pytest.mark.parametrize("width", [40, 120])
def test_a_terminal_lists_every_layer(width: int) -> None:
    lines = list(changed_page(LATE, width))
    assert max(map(len, lines)) <= width
    assert [line.split()[1] for line in lines if line.startswith("  layer")] == ["0", "1", "2", "3"]
