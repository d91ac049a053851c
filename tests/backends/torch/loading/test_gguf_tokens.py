from pathlib import Path
from typing import Any

import pytest

from sonde.backends.torch.loading.gguf_tokens import CONTROL, read_file_tokens
from sonde.errors import BadRequest
from tests.backends.torch.loading.gguf_files import (
    TEMPLATE,
    Vocabulary,
    bytes_and_merges,
    pieces_and_scores,
    write_gguf,
)


def test_everything_a_file_says_is_read(tmp_path: Path) -> None:
    words = pieces_and_scores()
    file = write_gguf(
        tmp_path / "m.gguf", None, words, add_bos_token=False, add_eos_token=True,
        add_space_prefix=False, padding_token_id=2, eot_token_id=259, chat_template=TEMPLATE,
    )  # fmt: skip
    said = read_file_tokens(file)
    assert (said.family, said.rule, said.chat_template) == ("llama", None, TEMPLATE)
    assert (said.bos, said.eos, said.eot, said.unknown, said.padding) == (1, 2, 259, 0, 2)
    assert (said.add_bos, said.add_eos, said.add_space_prefix) == (False, True, False)
    assert (said.before, said.after) == ([], [2])
    assert list(said.tokens) == list(words.tokens)
    assert said.scores == pytest.approx(words.scores)
    assert said.of_kind(CONTROL) == [1, 2]
    assert said.text(1) == "<s>"
    assert said.text(None) is None


@pytest.mark.parametrize(
    ("words", "bos", "space"),
    [(bytes_and_merges(), False, False), (pieces_and_scores(), True, True)],
)
def test_what_is_not_said_is_as_the_format_has_it(
    tmp_path: Path, words: Vocabulary, bos: bool, space: bool
) -> None:
    said = read_file_tokens(write_gguf(tmp_path / "m.gguf", None, words))
    assert (said.add_bos, said.add_eos, said.add_space_prefix) == (bos, False, space)


@pytest.mark.parametrize(
    ("words", "said", "complaint"),
    [
        (bytes_and_merges("martian"), {}, r"rule named 'martian'.*not known.*'smollm'"),
        (bytes_and_merges("default"), {}, r"does not say how its text is split"),
        (bytes_and_merges(None), {}, r"does not say how its text is split"),
        (bytes_and_merges(), {"add_bos_token": True}, r"add_bos_token.*does not say which"),
        (bytes_and_merges("llama-bpe"), {}, r"add_bos_token.*write tokenizer.ggml.bos_token_id"),
        (bytes_and_merges(), {"eos_token_id": 4000}, r"eos_token_id is 4000, outside"),
        (bytes_and_merges("qwen2"), {"add_space_prefix": True}, r"add_space_prefix"),
        (Vocabulary("bert", ["a"], [1]), {}, r"kind 'bert'.*known: \['gpt2', 'llama'"),
        (Vocabulary("gpt2", ["a"], [1], pre="gpt-2"), {}, r"no merges"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(
    tmp_path: Path, words: Vocabulary, said: dict[str, Any], complaint: str
) -> None:
    file = write_gguf(tmp_path / "m.gguf", None, words, **said)
    with pytest.raises(BadRequest, match=complaint) as refused:
        read_file_tokens(file)
    assert str(file) in str(refused.value)
