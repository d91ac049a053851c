import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import processors
from transformers import AutoTokenizer

import sonde
from sonde.backends.torch.loading.tokenizer import load_tokenizer, mend
from sonde.errors import BadRequest
from tests.tiny_model import SENTENCES, save_tiny_model, tiny_llama, tiny_tokenizer


def saved(directory: Path, *, template: str | None = None, **settings: Any) -> Path:
    """A tiny model whose `tokenizer_config.json` says more."""
    save_tiny_model(directory)
    tokenizer = tiny_tokenizer()
    if template is not None:
        tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
            single=template, special_tokens=[("<|end|>", 0)]
        )
    tokenizer.save_pretrained(directory)
    file = directory / "tokenizer_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | settings))
    return directory


def test_a_directory_without_a_tokenizer_says_how_to_add_one(tmp_path: Path) -> None:
    tiny_llama().save_pretrained(tmp_path)
    with pytest.raises(BadRequest, match=r"no tokenizer.*tokenizer\.save_pretrained"):
        load_tokenizer(tmp_path)


def test_the_tokenizer_knows_offsets(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(save_tiny_model(tmp_path))
    assert tokenizer.is_fast
    encoded = tokenizer("The Eiffel Tower", return_offsets_mapping=True)
    assert encoded.offset_mapping == [(0, 3), (3, 10), (10, 16)]


@pytest.mark.parametrize("name", ["LlamaTokenizer", "LlamaTokenizerFast", "GemmaTokenizer"])
def test_a_class_that_builds_its_own_does_not_change_the_tokens(tmp_path: Path, name: str) -> None:
    tokenizer = load_tokenizer(saved(tmp_path, tokenizer_class=name))
    for text in (*SENTENCES, "  two  spaces 1 2", "a\n\nb"):
        assert tokenizer(text).input_ids == tiny_tokenizer()(text).input_ids


def test_without_a_flag_a_prompt_gets_what_the_file_adds(tmp_path: Path) -> None:
    directory = saved(tmp_path, template="<|end|> $A", tokenizer_class="LlamaTokenizer")
    bare = tiny_tokenizer()("The Eiffel").input_ids
    assert load_tokenizer(directory)("The Eiffel").input_ids == [0, *bare]


@pytest.mark.parametrize("name", ["PreTrainedTokenizerFast", "LlamaTokenizer", "GPT2Tokenizer"])
@pytest.mark.parametrize("template", [None, "$A", "<|end|> $A", "$A <|end|>"])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("last", [True, False])
def test_01_a_flag_in_the_settings_decides_what_a_prompt_gets(
    tmp_path: Path, name: str, template: str | None, first: bool, last: bool
) -> None:
    settings = {"add_bos_token": first, "add_eos_token": last, "tokenizer_class": name}
    model = sonde.load(str(saved(tmp_path, template=template, **settings)), device="cpu")
    bare = tiny_tokenizer()("The Eiffel").input_ids
    assert model.backend.tokenize("The Eiffel") == [0] * first + bare + [0] * last
    special = model.describe().special_tokens
    assert [token.id for token in special.before] == [0] * first
    assert [token.id for token in special.after] == [0] * last


def test_offsets_are_those_of_the_text_whatever_is_added(tmp_path: Path) -> None:
    model = sonde.load(str(saved(tmp_path, add_bos_token=True)), device="cpu")
    assert model.backend.offsets("The Eiffel") == [(0, 0), (0, 3), (3, 10)]


def test_a_flag_without_a_token_to_go_with_it_adds_nothing(tmp_path: Path) -> None:
    directory = saved(tmp_path, add_bos_token=True, bos_token=None)
    assert load_tokenizer(directory)("The").input_ids == tiny_tokenizer()("The").input_ids


def test_a_prefix_space_in_the_settings_is_kept(tmp_path: Path) -> None:
    directory = saved(tmp_path, add_prefix_space=True, tokenizer_class="GPT2Tokenizer")
    assert load_tokenizer(directory)("Eiffel").input_ids == tiny_tokenizer()(" Eiffel").input_ids


@pytest.mark.parametrize("name", ["LlamaTokenizer", "GPT2Tokenizer", "Qwen2Tokenizer"])
def test_a_tokenizer_without_its_vocabulary_is_refused(tmp_path: Path, name: str) -> None:
    directory = saved(tmp_path, tokenizer_class=name)
    (directory / "tokenizer.json").unlink()
    with pytest.raises(BadRequest, match=r"makes no tokens of any text.*tokenizer\.json"):
        load_tokenizer(directory)


def test_a_tokenizer_that_cannot_be_brought_to_its_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = saved(tmp_path)
    other = tiny_tokenizer()
    other.add_tokens(["Eiffel"])
    module = "sonde.backends.torch.loading.tokenizer"
    monkeypatch.setattr(f"{module}.AutoTokenizer.from_pretrained", lambda *_, **__: other)
    monkeypatch.setattr(f"{module}.PreTrainedTokenizerFast.from_pretrained", lambda *_, **__: other)
    with pytest.raises(
        BadRequest, match=r"gives 'The Eiffel Tower.*other tokens than its tokenizer"
    ):
        load_tokenizer(directory)


def test_what_was_mended_is_saved(tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer()
    mend(tokenizer, {"add_bos_token": True})
    tokenizer.save_pretrained(tmp_path)
    assert AutoTokenizer.from_pretrained(tmp_path)("The").input_ids == tokenizer("The").input_ids
    assert load_tokenizer(tmp_path)("The").input_ids[0] == 0
