from pathlib import Path
from typing import Any

import pytest
from transformers import PreTrainedTokenizerFast

from sonde.backends.torch.loading.gguf_plain import PlainTokens
from sonde.backends.torch.loading.gguf_tokenizer import build, compare, merges_by_score
from sonde.backends.torch.loading.gguf_tokens import FileTokens, read_file_tokens
from sonde.backends.torch.loading.special import template
from sonde.backends.torch.loading.splitting import RULES
from sonde.errors import BadRequest
from tests.backends.torch.loading.gguf_files import (
    TEMPLATE,
    Vocabulary,
    bytes_and_merges,
    pieces_and_scores,
    write_gguf,
)
from tests.tiny_model import SENTENCES, tiny_tokenizer


def read(directory: Path, words: Vocabulary, **said: Any) -> FileTokens:
    return read_file_tokens(write_gguf(directory / "m.gguf", None, words, **said))


@pytest.mark.parametrize("rule", RULES)
def test_bytes_and_merges_make_the_tokens_that_the_file_says(tmp_path: Path, rule: str) -> None:
    said = read(tmp_path, bytes_and_merges(rule), bos_token_id=0)
    made = build(said)
    compare(made, said, "m.gguf")
    for text in SENTENCES:
        assert made(text, add_special_tokens=False).input_ids == tiny_tokenizer()(text).input_ids
        assert made.decode(made(text).input_ids, skip_special_tokens=True) == text


@pytest.mark.parametrize("flag", [True, False])
def test_a_space_before_a_byte_level_text(tmp_path: Path, flag: bool) -> None:
    said = read(tmp_path, bytes_and_merges(), add_space_prefix=flag)
    made = build(said)
    compare(made, said, "m.gguf")
    expected = tiny_tokenizer()(" Eiffel" if flag else "Eiffel").input_ids
    assert made("Eiffel").input_ids == expected
    assert made(" Eiffel").input_ids == tiny_tokenizer()(" Eiffel").input_ids


@pytest.mark.parametrize("bos", [True, False])
@pytest.mark.parametrize("eos", [True, False])
@pytest.mark.parametrize("space", [True, False])
def test_pieces_and_scores_make_the_tokens_that_the_file_says(
    tmp_path: Path, bos: bool, eos: bool, space: bool
) -> None:
    flags = {"add_bos_token": bos, "add_eos_token": eos, "add_space_prefix": space}
    said = read(tmp_path, pieces_and_scores(), **flags, chat_template=TEMPLATE)
    made = build(said)
    compare(made, said, "m.gguf")
    for text in (*SENTENCES, " é <turn>1  2\n"):
        assert made(text).input_ids == PlainTokens(said).of(text)
        bare = text.replace("<turn>", "")
        assert made.decode(made(bare).input_ids, skip_special_tokens=True) == bare
    assert made.chat_template == TEMPLATE


def test_pieces_and_merges_do_too(tmp_path: Path) -> None:
    words = pieces_and_scores()
    merges = [" ".join(pair) for pair in merges_by_score(read(tmp_path, words))]
    other = Vocabulary("gemma4", words.tokens, words.kinds, merges=merges, ids=words.ids)
    said = read(tmp_path, other, add_bos_token=True)
    compare(build(said), said, "m.gguf")
    assert build(said)("The city").input_ids[0] == 1


def test_names_of_special_tokens_are_the_files(tmp_path: Path) -> None:
    made = build(read(tmp_path, pieces_and_scores(), padding_token_id=2))
    assert made.special_tokens_map == {
        "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "</s>"
    }  # fmt: skip
    assert len(made) == len(pieces_and_scores().tokens)


def test_a_control_token_may_be_spelled_with_any_letters(tmp_path: Path) -> None:
    words = bytes_and_merges()
    spelled = Vocabulary(words.model, [*words.tokens, "<｜begin▁of▁sentence｜>"], [*words.kinds, 3],
                         merges=words.merges, pre="gpt-2", ids=words.ids)  # fmt: skip
    token = len(words.tokens)
    said = read(tmp_path, spelled, add_bos_token=True, bos_token_id=token)
    made = build(said)
    compare(made, said, "m.gguf")
    assert made("The").input_ids[0] == token == made.bos_token_id
    assert len(made) == token + 1


def without_the_first_token(made: PreTrainedTokenizerFast) -> None:
    made.backend_tokenizer.post_processor = template([], [])


def with_another_rule(made: PreTrainedTokenizerFast) -> None:
    made.backend_tokenizer.normalizer = None


def without_its_template(made: PreTrainedTokenizerFast) -> None:
    made.chat_template = None


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (without_the_first_token, r"m\.gguf: .* gives '' the tokens \[\], and the file says \[1\]"),
        (with_another_rule, r"m\.gguf: .* gives 'The Eiffel"),
        (without_its_template, r"m\.gguf: .* another chat template"),
    ],
)
def test_01_a_difference_is_refused_by_name(tmp_path: Path, spoil: Any, complaint: str) -> None:
    said = read(tmp_path, pieces_and_scores(), chat_template=TEMPLATE)
    made = build(said)
    spoil(made)
    with pytest.raises(BadRequest, match=complaint):
        compare(made, said, "m.gguf")
