"""Values as people write them."""

import math
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.cli import parse
from sonde.errors import BadRequest, LayerOutOfRange
from sonde.prompts import Span
from sonde.schema import LayerRange

numbers = st.lists(st.integers(-(10**9), 10**9), min_size=1)
anything = st.text(max_size=40)
words_of_a_prompt = st.text(st.characters(categories=["L", "P", "Zs"]), min_size=1).filter(
    lambda text: "span:" not in text and "#" not in text
)
"""No digits: a number after a comma is a position of its own."""


@given(numbers)
def test_numbers_read_back(chosen: list[int]) -> None:
    text = ",".join(map(str, chosen))
    assert parse.numbers("--mask", text, "") == chosen
    assert parse.layers(text) == chosen
    assert parse.positions("--positions", [text]) == chosen


@given(st.integers(0, 500), st.integers(1, 500), st.integers(1, 40))
def test_a_range_is_pythons(start: int, length: int, step: int) -> None:
    text = f"{start}:{start + length}:{step}"
    chosen = parse.layers(text)
    assert chosen == slice(start, start + length, step)
    assert parse.layers_of(chosen, 10**6) == LayerRange(start=start, stop=start + length, step=step)
    assert parse.numbers("--mask", text, "") == list(range(start, start + length, step))


@pytest.mark.parametrize(
    ("text", "start", "stop", "step"),
    [
        ("all", 0, 30, 1),
        (" all ", 0, 30, 1),
        (":", 0, 30, 1),
        ("::2", 0, 30, 2),
        ("10:", 10, 30, 1),
        (":10", 0, 10, 1),
        ("0:30:2", 0, 30, 2),
        ("0:40", 0, 40, 1),
    ],
)
def test_open_ends_are_the_models_and_closed_ones_are_not_clipped(
    text: str, start: int, stop: int, step: int
) -> None:
    expected = LayerRange(start=start, stop=stop, step=step)
    assert parse.layers_of(parse.layers(text), 30) == expected


def test_layers_may_mix_numbers_and_ranges() -> None:
    assert parse.layers("0, 5:8, 20:30:5") == [0, 5, 6, 7, 20, 25]
    assert parse.layers_of([3, 1], 30) == [3, 1]


def test_an_open_range_beyond_the_model_names_the_layer() -> None:
    with pytest.raises(LayerOutOfRange, match="layer 30 is out of range"):
        parse.layers_of(parse.layers("30:"), 30)


@pytest.mark.parametrize(
    "text", ["", "0-5", "a", "0,", "1.5", "5:5", "7:2", ":-1", "0:4:0", "0:1:2:3"]
)
def test_layers_that_cannot_be_read_say_what_can(text: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(f"--layers {text!r}") + ".*write all, a range"):
        parse.layers(text)


def test_a_range_too_long_to_list_is_refused_by_arithmetic() -> None:
    with pytest.raises(BadRequest, match="--mask names 1,000,000,000,000 numbers"):
        parse.numbers("--mask", "0:1000000000000", "")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["all"], "all"),
        (["each"], "all"),
        (["0, 3,5"], [0, 3, 5]),
        (["span:Colosseum"], [Span("Colosseum")]),
        (["span:the#1"], [Span("the", 1)]),
        (["span: the"], [Span(" the")]),
        (["span:issue #1#0"], [Span("issue #1")]),
        (["0,span:is,3,span:of#2"], [0, Span("is"), 3, Span("of", 2)]),
        (["span:store, John"], [Span("store, John")]),
        (["span:in 1990, 1991"], [Span("in 1990, 1991")]),
        (["span:is, span:of"], [Span("is"), Span("of")]),
        (["span:1,000", "0,2"], [Span("1,000"), 0, 2]),
        (["span:a,span:b", "span:c,3"], [Span("a,span:b"), Span("c,3")]),
    ],
)
def test_positions(values: list[str], expected: object) -> None:
    assert parse.positions("--positions", values) == expected


@given(st.lists(words_of_a_prompt, min_size=1))
def test_any_text_without_digits_can_be_a_span_commas_and_all(spans: list[str]) -> None:
    expected = [Span(text) for text in spans]
    assert parse.positions("--positions", [f"span:{text}" for text in spans]) == expected
    for text in spans:
        assert parse.positions("--positions", [f"span:{text}"]) == [Span(text)]


@pytest.mark.parametrize("value", ["Colosseum", "", "0,x", "span:", "span:#1", "all,3", "3,all"])
def test_positions_that_cannot_be_read_say_what_can(value: str) -> None:
    with pytest.raises(
        BadRequest, match=r"^--positions .*; write each \(or all\), together, numbers .* span:TEXT"
    ):
        parse.positions("--positions", [value])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1),
        ("1048576", 2**20),
        ("512MiB", 512 * 2**20),
        ("2GiB", 2 * 2**30),
        ("2 gib", 2 * 2**30),
        ("1.5GB", 1_500_000_000),
        ("64kb", 64_000),
        ("8B", 8),
    ],
)
def test_sizes(text: str, expected: int) -> None:
    assert parse.size("--memory-budget", text) == expected


@pytest.mark.parametrize("text", ["", "2G", "GiB", "-1GiB", "0", "0.1B", "1e9", "inf", "9" * 400])
def test_sizes_that_cannot_be_say_what_can(text: str) -> None:
    with pytest.raises(BadRequest, match="--memory-budget '.*write 512MiB, 2GiB or bytes"):
        parse.size("--memory-budget", text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_alpha_is_any_finite_number(value: float) -> None:
    assert parse.alpha(str(value)) == value


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999", "much", ""])
def test_alpha_is_nothing_else(text: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(f"--alpha {text!r} is not a finite number; 1")):
        parse.alpha(text)


def test_words_are_taken_once_in_the_order_given() -> None:
    assert parse.words("--hooks", ["b, a", "b"], ["a", "b", "c"]) == ["b", "a"]


@pytest.mark.parametrize(
    ("word", "remedy"),
    [("POST_BLOCK", "did you mean 'post_block'?"), ("q", "there are post_block, mlp_out")],
)
def test_an_unknown_word_is_named_with_the_nearest_or_with_all(word: str, remedy: str) -> None:
    with pytest.raises(BadRequest) as caught:
        parse.words("--hooks", [word], ["post_block", "mlp_out"])
    assert str(caught.value) == f"--hooks has no {word!r}; {remedy}"


def test_text_is_any_unicode_but_no_broken_bytes() -> None:
    assert parse.text("--clean", "naïve \n 東京") == "naïve \n 東京"
    with pytest.raises(BadRequest, match=r"--clean 'a.udcff' is not UTF-8"):
        parse.text("--clean", "a\udcff")


def test_a_long_value_is_repeated_in_part() -> None:
    with pytest.raises(BadRequest) as caught:
        parse.layers("x" * 10_000)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "read",
    [
        parse.layers,
        parse.alpha,
        lambda text: parse.numbers("--mask", text, ""),
        lambda text: parse.positions("--positions", [text]),
        lambda text: parse.positions("--positions", [text, text]),
        lambda text: parse.size("--memory-budget", text),
    ],
)
@given(text=anything | st.from_regex(r"[-0-9:,#spanall]{0,20}", fullmatch=True))
def test_whatever_is_written_is_read_or_refused(read: Callable[[str], object], text: str) -> None:
    try:
        value = read(text)
    except BadRequest:
        return
    assert not (isinstance(value, float) and math.isnan(value))
