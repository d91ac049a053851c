"""An echoed prompt's tokens begin where their text is."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.backends.torch.text import TokenVerbs
from sonde.server.completion.decoding import InnerText
from sonde.server.completion.offsets import text_offsets, token_offsets
from tests.server.completion.test_decoding import spaced
from tests.tiny_model import END, tiny_tokenizer

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
