"""A feature in a terminal."""

import pytest
from rich.cells import cell_len

from sonde.results.feature import render_feature
from sonde.results.pen import Pen
from sonde.schema.feature import Feature, Snippet

FEATURE = Feature(
    feature=3201,
    rate=0.0123,
    promoted=[" Paris", "\n", " France"],
    suppressed=[" the"],
    snippets=[
        Snippet(tokens=["The", " Eiffel", " Tower", " is"], heat="0390", value=45.2),
        Snippet(tokens=["\x1b[31m", " red" * 40, " Tower"], heat="009", value=7.0),
    ],
)


def shown(feature: Feature = FEATURE, *, color: bool = False, width: int = 80) -> str:
    return render_feature(feature, title="layer 15", pen=Pen(color), width=width)


def test_it_says_how_often_what_it_promotes_and_where_it_peaks() -> None:
    text = shown()
    assert text.splitlines()[:4] == [
        "layer 15, feature 3201",
        "active      on 1.23 % of tokens",
        r"promotes    ·Paris  \n  ·France",
        "suppresses  ·the",
    ]
    assert "      45.2  The·Eiffel[·Tower]·is" in text


def test_without_colour_there_is_no_escape_and_with_it_only_ours() -> None:
    assert "\x1b" not in shown()
    colored = shown(color=True)
    assert "\x1b[31m" not in colored
    assert "[·Tower]" not in colored
    assert "·Tower" in colored


@pytest.mark.parametrize("width", [30, 50, 80])
def test_no_line_is_wider_than_the_terminal_and_the_peak_is_always_seen(width: int) -> None:
    lines = shown(width=width).splitlines()
    assert max(map(cell_len, lines[:1] + lines[2:])) <= width
    assert sum("Tower" in line for line in lines) == 2


def test_a_dead_feature_says_so() -> None:
    text = shown(FEATURE.model_copy(update={"rate": 0.0, "snippets": []}))
    assert "it is dead" in text
    assert "most active" not in text
