from dataclasses import replace
from pathlib import Path

import pytest

from sonde.backends.torch.loading.gguf_plain import PlainTokens, merged
from sonde.backends.torch.loading.gguf_tokens import FileTokens, read_file_tokens
from tests.backends.torch.loading.gguf_files import (
    bytes_and_merges,
    pieces_and_scores,
    write_gguf,
)


@pytest.fixture
def pieces(tmp_path: Path) -> FileTokens:
    return read_file_tokens(write_gguf(tmp_path / "pieces.gguf", None, pieces_and_scores()))


@pytest.fixture
def letters(tmp_path: Path) -> FileTokens:
    file = write_gguf(tmp_path / "letters.gguf", None, bytes_and_merges(), add_bos_token=True,
                      bos_token_id=0)  # fmt: skip
    return read_file_tokens(file)


AS_LLAMA_CPP = {
    "to\n\n1  2": [1, 378, 13, 13, 264, 380, 265],
    "so<turn> it is": [1, 315, 293, 259, 301, 313, 296, 374],
    "  two, and after  ": [1, 380, 316, 299, 293, 261, 369, 368, 285, 296, 284, 294, 380],
    "": [1],
}
"""Tokens of this very vocabulary, as llama.cpp gives them."""


@pytest.mark.parametrize("text", AS_LLAMA_CPP)
def test_pieces_are_merged_as_llama_cpp_merges_them(pieces: FileTokens, text: str) -> None:
    assert PlainTokens(pieces).of(text) == AS_LLAMA_CPP[text]


def test_without_a_space_before_the_text(pieces: FileTokens) -> None:
    plain = PlainTokens(replace(pieces, add_space_prefix=False))
    assert plain.of("to\n\n1  2") == [1, 296, 293, 13, 13, 264, 380, 265]
    assert plain.of("so<turn> it is") == [1, 295, 293, 259, 313, 296, 374]


def test_bytes_are_merged_as_llama_cpp_merges_them(letters: FileTokens) -> None:
    plain = PlainTokens(letters)
    assert plain.of("to\n\n1  2") == [0, 84, 79, 199, 199, 17, 221, 221, 18]
    assert plain.of("so<|end|> it") == [0, 83, 79, 0, 259, 84]


def test_what_is_in_no_vocabulary_is_spelled_in_bytes_or_unknown(pieces: FileTokens) -> None:
    body = PlainTokens(replace(pieces, add_bos=False, add_space_prefix=False))
    assert body.of("é") == [3 + byte for byte in "é".encode()]
    without = replace(pieces, kinds=[1 if kind == 6 else kind for kind in pieces.kinds])
    assert PlainTokens(replace(without, add_bos=False, add_space_prefix=False)).of("é") == [0]


def test_pieces_with_merges_of_their_own_go_by_those(pieces: FileTokens) -> None:
    ids = {text: i for i, text in enumerate(pieces.tokens)}
    said = replace(pieces, family="gemma4", merges=[("▁", "i"), ("▁i", "s")], add_bos=False)
    found = PlainTokens(replace(said, add_space_prefix=False)).of(" is\n is")
    assert found == [ids["▁is"], 13, ids["▁is"]]


def test_a_word_that_is_a_token_is_taken_whole_where_the_rule_says_so(letters: FileTokens) -> None:
    assert letters.rule is not None
    said = replace(letters, merges=letters.merges[:3], add_bos=False)
    assert len(PlainTokens(said).of(" Eiffel")) > 1
    whole = replace(said, rule=replace(letters.rule, whole_words=True))
    assert len(PlainTokens(whole).of(" Eiffel")) == 1


def test_the_lowest_rank_goes_first_and_of_equals_the_leftmost() -> None:
    ranks = {"ab": 1.0, "bc": 0.0, "aa": 0.0}
    assert merged(list("abc"), lambda a, b: ranks.get(a + b)) == ["a", "bc"]
    assert merged(list("aaa"), lambda a, b: ranks.get(a + b)) == ["aa", "a"]
