"""Text comes whole, in order, once, and never past a stop string.

An echoed prompt's tokens begin where their text is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import decoders, models

from sonde.backends.torch.text import TokenVerbs
from sonde.server.completion.decoding import (
    Decoder,
    InnerText,
    StopStrings,
    text_offsets,
    token_offsets,
)
from tests.tiny_model import END, VOCABULARY, tiny_tokenizer


@dataclass(frozen=True)
class Words:
    """A tokenizer, as a backend has it."""

    made: tokenizers.Tokenizer

    def tokenize(self, text: str, *, special: bool = True) -> list[int]:
        return [int(i) for i in self.made.encode(text, add_special_tokens=special).ids]

    def detokenize(self, tokens: Sequence[int]) -> str:
        return str(self.made.decode(list(tokens), skip_special_tokens=True))


@cache
def bytes_like() -> Words:
    """Byte-level, as most models have it: bytes of a character may be tokens."""
    return Words(tiny_tokenizer().backend_tokenizer)


@cache
def spaced() -> Words:
    """Like SentencePiece: a word's space is left out at the beginning, unknown bytes are tokens."""
    vocabulary = {"<unk>": 0, "▁on": 1, "▁off": 2, "s": 3}
    vocabulary |= {f"<0x{byte:02X}>": 4 + byte for byte in range(256)}
    bpe = models.BPE(vocab=vocabulary, merges=[], byte_fallback=True, unk_token="<unk>")
    made = tokenizers.Tokenizer(bpe)
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    made.decoder = decoders.Sequence([*steps, decoders.Strip(" ", 1, 0)])
    return Words(made)


def ids(text: str) -> list[int]:
    return bytes_like().tokenize(text, special=False)


def pieces(
    tokens: Sequence[int], prompt: Sequence[int] = (), words: Words | None = None
) -> list[str]:
    decoder = Decoder(InnerText(words or bytes_like()), prompt)
    return [*(decoder.push(token) for token in tokens), decoder.finish()]


@given(st.text(), st.text())
def test_the_pieces_make_up_the_text(prompt: str, text: str) -> None:
    assert "".join(pieces(ids(text), ids(prompt))) == bytes_like().detokenize(ids(text))


@given(st.lists(st.integers(0, VOCABULARY - 1), max_size=80))
def test_the_pieces_of_any_tokens_make_up_their_text(tokens: list[int]) -> None:
    """Bytes at random, mostly no characters at all."""
    assert "".join(pieces(tokens)) == bytes_like().detokenize(tokens)


def test_a_character_comes_with_its_last_byte() -> None:
    rocket = ids("a🚀b")
    assert pieces(rocket) == ["a", "", "", "", "🚀", "b", ""]


def test_a_character_that_ends_too_early_comes_at_the_end() -> None:
    assert pieces(ids("a🚀")[:3]) == ["a", "", "", "\ufffd"]


def test_a_character_begun_in_the_prompt_is_completed() -> None:
    rocket = ids("🚀")
    assert pieces([*rocket[3:], *ids("b")], [*ids("a"), *rocket[:3]]) == ["🚀", "b", ""]


def test_a_character_that_was_replaced_before_is_kept() -> None:
    assert "".join(pieces(ids("a\ufffdb\ufffd"))) == "a\ufffdb\ufffd"


def test_special_tokens_have_no_text() -> None:
    end = tiny_tokenizer().convert_tokens_to_ids(END)
    assert pieces([*ids("a"), end, *ids("b")]) == ["a", "", "b", ""]


def test_a_space_between_prompt_and_completion_is_kept() -> None:
    assert spaced().detokenize([2]) == "off"
    assert pieces([2, 3, 1], [1], spaced()) == [" off", "s", " on", ""]


def test_bytes_that_are_tokens_make_a_character() -> None:
    def at(text: str) -> list[int]:
        return [4 + byte for byte in text.encode()]

    tokens = [1, *at("é€🚀"), 2, *at("🚀")[:2]]
    made = pieces(tokens, [1], spaced())
    assert "".join(made) == " oné€🚀 off\ufffd\ufffd"
    assert "\ufffd" not in "".join(made[:-1])


def shown(strings: list[str], texts: Sequence[str]) -> list[str]:
    stops = StopStrings(strings)
    return [*(stops.push(text) for text in texts), stops.finish()]


def test_text_is_not_shown_while_it_may_become_a_stop_string() -> None:
    assert shown(["END"], ["aE", "N", "E", "ND", "b"]) == ["a", "", "EN", "", "", ""]
    assert shown(["END"], ["aE", "N"]) == ["a", "", "EN"]


def test_without_stop_strings_text_is_shown_at_once() -> None:
    assert shown([], ["a", "b"]) == ["a", "b", ""]


@pytest.mark.parametrize("texts", [["abcd"], ["a", "b", "c", "d"], ["ab", "cd"]])
def test_the_string_that_is_complete_first_ends_the_text(texts: list[str]) -> None:
    assert "".join(shown(["abcd", "bc"], texts)) == "a"


def test_13_the_string_that_ends_the_text_is_told_and_can_be_part_of_it() -> None:
    stops = StopStrings(["zz", "bc"], included=True)
    assert stops.push("ab") + stops.push("cd") + stops.finish() == "abc"
    assert stops.found == "bc"
    assert StopStrings(["x"]).found is None


def test_13_a_string_that_is_complete_too_early_ends_nothing() -> None:
    stops = StopStrings(["ab"])
    assert stops.push("xab", may_end=False) + stops.push("y") == "xaby"
    assert stops.push("ab") == ""
    assert stops.found == "ab"


def test_13_a_string_that_begins_early_ends_the_text_when_it_is_complete_later() -> None:
    stops = StopStrings(["abab"])
    assert stops.push("xababa", may_end=False) == "xab"
    assert stops.push("b") == ""
    assert stops.found == "abab"


@given(
    st.lists(st.text("ab", min_size=1, max_size=3), max_size=8),
    st.integers(0, 8),
    st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=3),
    st.booleans(),
)
def test_13_text_ends_at_the_first_string_that_is_complete_late_enough(
    texts: list[str], spared: int, strings: list[str], included: bool
) -> None:
    whole, early = "".join(texts), len("".join(texts[:spared]))
    ends = [
        (i + len(s), i)
        for s in strings
        for i in range(len(whole))
        if whole[i:].startswith(s) and i + len(s) > early
    ]
    expected = whole[: min(ends)[not included]] if ends else whole
    stops = StopStrings(strings, included=included)
    made = [stops.push(text, may_end=k >= spared) for k, text in enumerate(texts)]
    assert "".join(made) + stops.finish() == expected
    assert (stops.found is not None) == bool(ends)


alphabet = st.text("ab\n", max_size=12)


@given(st.lists(alphabet, max_size=8), st.lists(st.text("ab\n", min_size=1), max_size=3))
def test_how_text_is_cut_into_tokens_changes_nothing(texts: list[str], strings: list[str]) -> None:
    whole = "".join(texts)
    ends = [i + len(s) for s in strings for i in range(len(whole)) if whole[i:].startswith(s)]
    first = min(ends, default=None)
    expected = whole
    if first is not None:
        longest = max(len(s) for s in strings if whole[:first].endswith(s))
        expected = whole[: first - longest]

    assert "".join(shown(strings, texts)) == expected
    assert "".join(shown(strings, list(whole))) == expected


BYTES = TokenVerbs(tiny_tokenizer())


@given(st.text("aé🚀 \n", max_size=20))
def test_13_both_ways_agree_on_whole_characters(text: str) -> None:
    tokens = BYTES.tokenize(text)
    by_text = text_offsets(text, BYTES)  # type: ignore[arg-type]
    by_token = token_offsets(tokens, text, BYTES)  # type: ignore[arg-type]
    assert len(by_text) == len(by_token) == len(tokens)
    for token, mine, other in zip(tokens, by_text, by_token, strict=True):
        own = InnerText(BYTES).of([token])
        if "\ufffd" not in own:
            assert mine == other
            assert text[mine:].startswith(own)


def test_13_special_tokens_begin_where_the_one_before_does() -> None:
    text = f"The city{END} of"
    offsets = text_offsets(text, BYTES)  # type: ignore[arg-type]
    assert offsets == (0, 3, 3, 3 + len(" city" + END))
    assert all(a <= b for a, b in pairwise(offsets))


def test_13_a_first_space_that_is_left_out_moves_the_rest() -> None:
    words = spaced()
    tokens = [1, 2, 3]
    text = words.detokenize(tokens)
    assert text == "on offs"
    found = token_offsets(tokens, text, words)  # type: ignore[arg-type]
    assert found == (0, 2, 6)


@pytest.mark.parametrize("tokens", [[], [0]])
def test_13_a_prompt_without_text_has_offsets_too(tokens: list[int]) -> None:
    assert token_offsets(tokens, "", BYTES) == (0,) * len(tokens)  # type: ignore[arg-type]
