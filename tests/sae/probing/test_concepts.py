"""Concepts: lists that can be compared, and features that tell them on words not seen."""

from sonde.sae.probing.concepts import probe_concepts
from sonde.sae.probing.read import at_the_end, in_sentences
from sonde.sae.probing.words import CONCEPTS, SENTENCES
from tests.sae.reading import mirror, tiny_reader


def test_both_lists_of_a_concept_are_as_long_and_no_word_is_in_both() -> None:
    for these, those in CONCEPTS.values():
        assert len(these) == len(those) == 24
        assert len({*these, *those}) == 48


def test_what_is_read_is_the_last_token_of_each_prompt() -> None:
    reader = tiny_reader()
    words = in_sentences(reader, [" Mary", " Paris and John"], SENTENCES[:2])
    assert words.which.tolist() == [0, 0, 1, 1]
    (read,) = at_the_end(reader, words, [(1, mirror(1))])
    for row, x in enumerate(read):
        length = int(words.prompts.lengths[row])
        alone = reader.activations(words.prompts.ids[row : row + 1, :length], "post_block", [1])
        assert (alone[1][0, -1] - x).abs().max() < 1e-5


def test_every_concept_is_told_as_balanced_accuracies() -> None:
    (found,) = probe_concepts(tiny_reader(), [(1, mirror(1))])
    assert list(found) == list(CONCEPTS)
    for told in found.values():
        assert all(0 <= value <= 1 for value in told.plain().values())
    # Lists of like words in an untrained model: what is told is told by spelling alone.
    assert set(found["plural"].plain()) == {"one", "few", "all"}
