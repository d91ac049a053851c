import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.training.rewards.grammar import Composition, NotAComposition, parse

names = st.from_regex(r"[a-z][a-z_]{0,6}", fullmatch=True)
compositions = st.recursive(
    st.builds(Composition, names, st.lists(names, min_size=1, max_size=3).map(tuple)),
    lambda inner: st.builds(
        Composition, names, st.lists(st.one_of(names, inner), min_size=1, max_size=3).map(tuple)
    ),
    max_leaves=6,
)


@settings(max_examples=30)
@given(compositions)
def test_what_is_written_is_read_back(composition: Composition) -> None:
    assert parse(str(composition)) == composition


def test_space_does_not_matter() -> None:
    assert parse("  made_of( spoon ,wood )  ") == Composition("made_of", ("spoon", "wood"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "made_of",
        "made_of(",
        "made_of()",
        "made_of(spoon",
        "made_of(spoon,",
        "made_of(spoon wood)",
        "made_of(spoon, wood))",
        "made_of(spoon, wood) and more",
        "made_of(spoon, wood).",
        "made-of(spoon)",
        "Made_of(spoon)",
        "(spoon)",
        "a(b)c(d)",
        "a(" * 1000 + "b" + ")" * 1000,
    ],
)
def test_anything_else_is_no_composition(text: str) -> None:
    with pytest.raises(NotAComposition):
        parse(text)


@given(st.text())
def test_no_text_breaks_the_parser(text: str) -> None:
    try:
        parse(text)
    except NotAComposition:
        return
