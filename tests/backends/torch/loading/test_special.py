import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from sonde.backends.torch.loading.special import added, special_tokens, template
from sonde.errors import BadRequest
from tests.tiny_model import tiny_tokenizer


def test_what_is_added_is_found_by_asking() -> None:
    tokenizer = tiny_tokenizer()
    assert added(tokenizer) == ([], [])
    tokenizer.backend_tokenizer.post_processor = template([("<|end|>", 0), ("a", 65)], [("b", 66)])
    tokenizer._add_bos_token = False  # what it says of itself is not asked
    found = special_tokens(tokenizer)
    assert [(t.id, t.text) for t in found.before] == [(0, "<|end|>"), (65, tokenizer.decode([65]))]
    assert [t.id for t in found.after] == [66]


def test_tokens_are_added_whatever_their_spelling() -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["$A:1", "a b"]})
    ids = [tokenizer.convert_tokens_to_ids(text) for text in ("$A:1", "a b")]
    tokenizer.backend_tokenizer.post_processor = template([("$A:1", ids[0])], [("a b", ids[1])])
    assert added(tokenizer) == ([ids[0]], [ids[1]])


def test_a_vocabulary_of_other_things_than_words_is_asked_with_its_own() -> None:
    moves = Tokenizer(models.WordLevel({"<s>": 0, "e4": 1, "e5": 2}))
    moves.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=moves, bos_token="<s>")
    tokenizer.backend_tokenizer.post_processor = template([("<s>", 0)], [])
    assert added(tokenizer) == ([0], [])


def test_a_tokenizer_without_tokens_is_refused() -> None:
    nothing = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()), bos_token="<s>")
    with pytest.raises(BadRequest, match="no tokens of any text"):
        special_tokens(nothing)
