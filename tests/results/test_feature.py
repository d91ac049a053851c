"""A feature in a terminal."""

import pytest
from rich.cells import cell_len

from sonde.results.feature import render_feature
from sonde.results.pen import Pen
from sonde.schema.feature import Feature, Label, Neighbour, Snippet, TokenShare

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


def test_the_range_is_shown_in_three_parts_and_each_only_where_there_is_one() -> None:
    low = Snippet(tokens=["a", " b"], heat="09", value=0.5, part="low")
    lines = shown(FEATURE.model_copy(update={"snippets": [*FEATURE.snippets, low]})).splitlines()
    assert lines.index("most active on") < lines.index("barely active on")
    assert lines[-1] == "     0.500  a[·b]"
    assert "also active on" not in lines


def test_values_contexts_kinds_and_neighbours_are_shown_where_they_are_known() -> None:
    text = shown(
        FEATURE.model_copy(
            update={
                "promoted_by": [7.04, 6.0, 5.0],
                "suppressed": [],
                "after": [TokenShare(token=" in", share=0.42)],
                "neighbours": [Neighbour(feature=9, cosine=0.51)],
                "kinds": {"code": 0.001, "chat": 0.2},
            }
        )
    )
    assert r"promotes    ·Paris 7.0  \n 6.0  ·France 5.0" in text
    assert "suppresses  nothing more than random directions do" in text
    assert "after       ·in 42 %" in text
    assert "neighbours  9 (0.51)" in text
    assert "by kind     chat 20.0 %  code 0.100 %" in text


def test_a_label_is_shown_with_who_said_it_and_how_far_it_holds() -> None:
    scored = Label(
        text="towers\x1b[31m", source="explainer m", score=0.9, measure="detection", scorer="m",
        examples=20,
    )  # fmt: skip
    text = shown(FEATURE.model_copy(update={"label": scored}))
    assert "label       towers" in text
    assert "\x1b" not in text
    assert "            detection 0.90 on 20 snippets by m · explainer m" in text
    without = Label(text="towers", source="an export", score=None, reason="it has none")
    text = shown(FEATURE.model_copy(update={"label": without}))
    assert "not scored: it has none · an export" in text
