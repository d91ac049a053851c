"""Spans: which tokens a piece of text means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.errors import BadRequest, PositionOutOfRange, SpanNotFound
from sonde.prompts import (
    Span,
    expand_positions,
    find_matches,
    offsets_by_decoding,
    resolve_positions,
    tokens_overlapping,
)
from sonde.schema import Position, SpanPosition

PROMPT = "The Colosseum is in the city of the"
PIECES = ["", "The", " Col", "osse", "um", " is", " in", " the", " city", " of", " the"]
"""A beginning-of-text token, then pieces with their leading spaces."""


def offsets_of(pieces: list[str]) -> list[tuple[int, int]]:
    offsets: list[tuple[int, int]] = []
    end = 0
    for piece in pieces:
        offsets.append((end, end + len(piece)))
        end += len(piece)
    return offsets


OFFSETS = offsets_of(PIECES)


def resolve(*positions: Position) -> list[int]:
    return resolve_positions(list(positions), prompt=PROMPT, offsets=OFFSETS)


def span(text: str, occurrence: int = 0) -> SpanPosition:
    return Span(text, occurrence).to_wire()


def test_a_span_goes_to_the_wire_with_its_occurrence() -> None:
    assert Span("the", 1).to_wire() == SpanPosition(span="the", occurrence=1)
    assert Span("the").to_wire() == SpanPosition(span="the")


def test_a_negative_occurrence_is_refused_where_it_is_written() -> None:
    with pytest.raises(BadRequest, match="counted from 0"):
        Span("the", -1)


def test_matches_may_overlap() -> None:
    assert find_matches("aa", "aaaa") == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "occurrence", "tokens"),
    [
        pytest.param(" is", 0, [5], id="one token"),
        pytest.param("is", 0, [5], id="its leading space does not matter"),
        pytest.param("Colosseum", 0, [2, 3, 4], id="several tokens"),
        pytest.param("loss", 0, [2, 3], id="partial overlap, crossing a boundary"),
        pytest.param("m i", 0, [4, 5], id="across a space"),
        pytest.param("the", 0, [7], id="letter case matters"),
        pytest.param("the", 1, [10], id="repeated"),
        pytest.param("The", 0, [1], id="never the token before the text"),
        pytest.param(PROMPT, 0, list(range(1, 11)), id="everything but the special token"),
    ],
)
def test_a_span_selects_the_tokens_it_overlaps(
    text: str, occurrence: int, tokens: list[int]
) -> None:
    assert resolve(span(text, occurrence)) == tokens


def test_overlapping_matches_count_as_occurrences() -> None:
    offsets = [(0, 1), (1, 2), (2, 3), (3, 4)]
    found = resolve_positions([span("aa", 2)], prompt="aaaa", offsets=offsets)
    assert found == [2, 3]


def test_a_special_token_inside_a_match_is_not_selected() -> None:
    assert tokens_overlapping((0, 4), [(0, 2), (2, 2), (2, 4)]) == [0, 2]


def test_all_prompt_is_every_position_special_ones_included() -> None:
    found = resolve_positions("all_prompt", prompt=PROMPT, offsets=OFFSETS)
    assert found == list(range(11))


def test_numbers_and_spans_mix_in_request_order_without_duplicates() -> None:
    assert resolve(9, span("Colosseum"), 3, 0, span("um is")) == [9, 2, 3, 4, 0, 5]


def test_plain_numbers_keep_their_order_and_their_duplicates() -> None:
    assert resolve(4, 0, 4) == [4, 0, 4]


def test_expanding_keeps_duplicates_even_among_spans() -> None:
    found = expand_positions([span("Col"), span("Col"), 2], prompt=PROMPT, offsets=OFFSETS)
    assert found == [2, 2, 2]


def test_no_positions_resolve_to_none() -> None:
    assert resolve() == []


@pytest.mark.parametrize("position", [-1, 11, 10**9])
def test_a_number_outside_the_prompt_names_its_length(position: int) -> None:
    with pytest.raises(PositionOutOfRange, match=rf"position {position} .* has 11 tokens"):
        resolve(0, position)
    with pytest.raises(PositionOutOfRange, match="11 tokens"):
        resolve(span("is"), position)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        pytest.param(span(""), "non-empty", id="empty"),
        pytest.param(span("Pantheon"), "'Pantheon' not found in the prompt 'The Col", id="absent"),
        pytest.param(span("colosseum"), "did you mean 'Colosseum'", id="other letter case"),
        pytest.param(span(" city  "), "did you mean 'city'", id="other blanks"),
        pytest.param(span("  "), "letter for letter", id="blanks that are not there"),
        pytest.param(span("the", 2), r"occurrence 2 .* out of range \[0, 2\)", id="too many"),
    ],
)
def test_a_span_that_selects_nothing_says_what_would(bad: SpanPosition, message: str) -> None:
    with pytest.raises(SpanNotFound, match=message):
        resolve(bad)


def test_a_span_of_characters_that_became_no_token_says_so() -> None:
    with pytest.raises(SpanNotFound, match=r"'\\t' covers no token of the prompt 'a\\tb'"):
        resolve_positions([span("\t")], prompt="a\tb", offsets=[(0, 1), (2, 3)])


def test_a_long_prompt_is_cut_in_messages() -> None:
    with pytest.raises(SpanNotFound) as caught:
        resolve_positions([span("y" * 9_999)], prompt="x" * 9_999, offsets=[(0, 9_999)])
    assert len(str(caught.value)) < 600


intervals = st.tuples(st.integers(0, 12), st.integers(0, 4)).map(lambda t: (t[0], t[0] + t[1]))


@given(text=st.text("ab", min_size=1, max_size=3), prompt=st.text("ab", max_size=12))
def test_matches_are_the_places_where_the_prompt_reads_like_the_text(
    text: str, prompt: str
) -> None:
    assert find_matches(text, prompt) == [
        start for start in range(len(prompt)) if prompt[start : start + len(text)] == text
    ]


@given(match=intervals, offsets=st.lists(intervals))
def test_selected_tokens_share_a_character_with_the_match(
    match: tuple[int, int], offsets: list[tuple[int, int]]
) -> None:
    wanted = set(range(*match))
    sharing = [i for i, interval in enumerate(offsets) if wanted & set(range(*interval))]
    assert tokens_overlapping(match, offsets) == sharing


# --- offsets of tokenizers that report none ---------------------------------------------------

readable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufffd"))


@given(text=readable, cuts=st.sets(st.integers(1, 40)), specials=st.sets(st.integers(0, 40)))
def test_decoding_gives_each_token_the_characters_its_bytes_belong_to(
    text: str, cuts: set[int], specials: set[int]
) -> None:
    """Byte tokens cut anywhere, inside characters too, with special tokens strewn in."""
    owner = [index for index, char in enumerate(text) for _ in char.encode()]
    edges = sorted({0, *(cut for cut in cuts if cut < len(owner)), len(owner)})
    chunks = [range(a, b) for a, b in zip(edges, edges[1:], strict=False)]
    for place in sorted(specials, reverse=True):
        chunks.insert(place, range(0))

    def decode(tokens: list[int]) -> str:
        return bytes(text.encode()[b] for t in tokens for b in chunks[t]).decode(errors="replace")

    offsets = offsets_by_decoding(list(range(len(chunks))), lambda tokens: decode(list(tokens)))

    assert [set(range(*interval)) for interval in offsets] == [
        {owner[byte] for byte in chunk} for chunk in chunks
    ]


def test_a_character_split_over_tokens_is_selected_with_all_of_them() -> None:
    pieces = [b"a", "é".encode()[:1], "é".encode()[1:], b"b"]
    offsets = offsets_by_decoding(
        range(4), lambda tokens: b"".join(pieces[t] for t in tokens).decode(errors="replace")
    )
    assert offsets == [(0, 1), (1, 2), (1, 2), (2, 3)]
    assert resolve_positions([span("é")], prompt="aéb", offsets=offsets) == [1, 2]


def test_no_tokens_have_no_offsets() -> None:
    assert offsets_by_decoding([], lambda _tokens: "") == []
