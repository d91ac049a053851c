"""The demonstration pairs are what they say."""

from typing import Any

import pytest

from sonde.errors import BadRequest
from sonde.prompts import PAIRS, DemoPair, align, demo_pair

each_pair = pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)


def test_a_pair_is_found_by_its_name() -> None:
    assert demo_pair("eiffel").clean == "The Eiffel Tower is in the city of"
    assert all(name == pair.name for name, pair in PAIRS.items())


def test_an_unknown_name_lists_those_there_are() -> None:
    with pytest.raises(BadRequest, match=r"no demo pair is called 'louvre'.*'eiffel', 'ioi'"):
        demo_pair("louvre")


@each_pair
def test_the_answer_is_not_in_what_distinguishes_the_prompts(pair: DemoPair) -> None:
    """Otherwise a patch could copy the answer instead of the fact."""
    assert pair.clean != pair.corrupt
    assert pair.answer != pair.foil
    assert (pair.answer in pair.clean) == (pair.answer in pair.corrupt)


@each_pair
def test_a_prompt_ends_where_the_answer_begins(pair: DemoPair) -> None:
    """A blank at the end of a prompt would be a token of its own, and the answer has it already."""
    assert pair.clean == pair.clean.strip()
    assert pair.corrupt == pair.corrupt.strip()
    assert pair.answer.startswith(" ")
    assert pair.foil.startswith(" ")


@pytest.mark.slow
@each_pair
def test_answer_and_foil_are_one_token_each(pair: DemoPair, smollm2_tokenizer: Any) -> None:
    for text in (pair.answer, pair.foil):
        assert len(smollm2_tokenizer(text, add_special_tokens=False).input_ids) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_clean", "n_corrupt", "unaligned"),
    [
        ("eiffel", 9, 9, 0),
        ("ioi", 14, 14, 0),
        ("sister", 3, 3, 0),
        ("korea", 9, 8, 1),
        ("britain", 5, 7, 3),
    ],
)
def test_korea_and_britain_are_the_pairs_of_unequal_length(
    name: str, n_clean: int, n_corrupt: int, unaligned: int, smollm2_tokenizer: Any
) -> None:
    pair = demo_pair(name)
    clean, corrupt = (smollm2_tokenizer(p).input_ids for p in (pair.clean, pair.corrupt))
    assert (len(clean), len(corrupt)) == (n_clean, n_corrupt)
    assert len(align(clean, corrupt).reasons) == unaligned
