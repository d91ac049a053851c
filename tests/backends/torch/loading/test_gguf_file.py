from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import sonde
from sonde.backends.torch.loading import gguf_file
from sonde.backends.torch.loading.gguf_file import OLDER, cache_name, converted
from sonde.backends.torch.loading.quiet import quiet
from sonde.errors import BadRequest
from tests.backends.torch.loading.gguf_files import (
    TEMPLATE,
    Vocabulary,
    bytes_and_merges,
    pieces_and_scores,
    write_gguf,
)
from tests.tiny_model import SENTENCES, tiny_llama, tiny_tokenizer


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SONDE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_gguf_becomes_a_model_directory_with_the_same_numbers(tmp_path: Path) -> None:
    model = tiny_llama().requires_grad_(False)
    said: list[str] = []
    directory = converted(write_gguf(tmp_path / "tiny.gguf", model), "tiny", said.append)
    loaded = AutoModelForCausalLM.from_pretrained(directory)
    assert not hasattr(loaded.config, "quantization_config")
    tokens = torch.arange(12)[None]
    assert torch.equal(loaded(tokens).logits, model(tokens).logits)
    assert [line.split()[0] for line in said] == ["converting", "converted"]
    assert str(directory) in said[1]


def test_it_is_converted_once(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "tiny.gguf", tiny_llama().requires_grad_(False))
    first = converted(file, "tiny", lambda line: None)
    said: list[str] = []
    assert converted(file, "tiny", said.append) == first
    assert said == []


def test_another_file_of_the_same_name_is_converted_again(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "tiny.gguf", tiny_llama().requires_grad_(False))
    first = cache_name(file, "tiny")
    write_gguf(file, tiny_llama(seed=1).requires_grad_(False))
    assert cache_name(file, "tiny") != first
    assert first.startswith("tiny-")


@pytest.mark.parametrize(("rule", "newlines"), [("gpt-2", 2), ("smollm", 1)])
def test_the_tokenizer_splits_numbers_as_the_file_says(
    tmp_path: Path, rule: str, newlines: int
) -> None:
    model = tiny_llama().requires_grad_(False)
    file = write_gguf(tmp_path / "tiny.gguf", model, bytes_and_merges(rule))
    tokenizer = AutoTokenizer.from_pretrained(converted(file, "tiny", lambda line: None))
    pieces = tokenizer.backend_tokenizer.pre_tokenizer.pre_tokenize_str("to\n\n1")
    assert len(pieces) == 1 + newlines + 1
    assert tokenizer("The Eiffel Tower").input_ids == tiny_tokenizer()("The Eiffel Tower").input_ids


def test_a_file_that_is_no_gguf_is_named_and_nothing_is_kept(tmp_path: Path, cache: Path) -> None:
    file = tmp_path / "not.gguf"
    file.write_bytes(b"not a model at all, whatever its name says")
    with pytest.raises(BadRequest, match=r"cannot read .*not\.gguf as a GGUF model"):
        converted(file, "not", lambda line: None)
    assert list((cache / "models").iterdir()) == []


def test_a_gguf_without_some_weights_is_refused(tmp_path: Path) -> None:
    model = tiny_llama().requires_grad_(False)
    del model.model.layers[1].mlp.up_proj.weight
    file = write_gguf(tmp_path / "tiny.gguf", model)
    with pytest.raises(BadRequest, match=r"lacks 1 weights.*layers\.1\.mlp\.up_proj"):
        converted(file, "tiny", lambda line: None)


def test_no_bar_is_drawn(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = write_gguf(tmp_path / "tiny.gguf", tiny_llama().requires_grad_(False))
    capfd.readouterr()
    with quiet():
        converted(file, "tiny", lambda line: None)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("vocabulary", "said", "before", "after"),
    [
        (bytes_and_merges(), {}, [], []),
        (bytes_and_merges(), {"add_bos_token": False, "bos_token_id": 1}, [], []),
        (bytes_and_merges(), {"add_bos_token": True, "bos_token_id": 1}, [1], []),
        (bytes_and_merges(), {"add_eos_token": True}, [], [0]),
        (bytes_and_merges("llama-bpe"), {"bos_token_id": 0}, [0], []),
        (bytes_and_merges("llama-bpe"), {"add_bos_token": False}, [], []),
        (pieces_and_scores(), {}, [1], []),
        (pieces_and_scores(), {"add_bos_token": False}, [], []),
        (pieces_and_scores(), {"add_bos_token": True, "add_eos_token": True}, [1], [2]),
        (pieces_and_scores(("<unk>", "<pad>", "<eos>", "<bos>")), {"bos_token_id": 3}, [3], []),
    ],
)
def test_01_a_prompt_gets_the_special_tokens_that_the_file_asks_for(
    tmp_path: Path,
    vocabulary: Vocabulary,
    said: dict[str, Any],
    before: list[int],
    after: list[int],
) -> None:
    file = write_gguf(tmp_path / "tiny.gguf", None, vocabulary, **said)
    model = sonde.load(str(file), device="cpu")
    bare = model.backend.tokenize(SENTENCES[0], special=False)
    assert bare
    assert model.backend.tokenize(SENTENCES[0]) == [*before, *bare, *after]
    special = model.describe().special_tokens
    assert [token.id for token in special.before] == before
    assert [token.id for token in special.after] == after
    assert [token.text for token in special.before] == [vocabulary.tokens[i] for i in before]
    result = model.sweep(corrupt=SENTENCES[0], clean=SENTENCES[0], answer=bare[-1], layers=[0])
    assert result.provenance.special_tokens == special
    assert len(result.positions) == len(before) + len(bare) + len(after)


@pytest.mark.parametrize(("flag", "space"), [(True, True), (False, False), (None, True)])
def test_01_a_space_stands_before_pieces_as_the_file_says(
    tmp_path: Path, flag: bool | None, space: bool
) -> None:
    said = {} if flag is None else {"add_space_prefix": flag}
    file = write_gguf(tmp_path / "tiny.gguf", None, pieces_and_scores(), **said)
    tokenizer = AutoTokenizer.from_pretrained(converted(file, "tiny", print))
    ids = tokenizer("The city").input_ids
    assert tokenizer.convert_ids_to_tokens(ids)[1].startswith("▁") == space
    assert tokenizer.decode(ids, skip_special_tokens=True) == "The city"


@pytest.mark.parametrize("vocabulary", [bytes_and_merges(), pieces_and_scores()])
def test_01_a_conversation_is_written_by_the_template_in_the_file(
    tmp_path: Path, vocabulary: Vocabulary
) -> None:
    said = {"chat_template": TEMPLATE, "bos_token_id": 2, "eos_token_id": 1, "add_bos_token": True}
    file = write_gguf(tmp_path / "tiny.gguf", None, vocabulary, **said)
    backend = sonde.load(str(file), device="cpu").backend
    bare = backend.tokenize("The city", special=False)
    messages = [{"role": "user", "content": "The city"}]
    special = (2, 1)
    if vocabulary.model == "gpt2":  # only control tokens are taken whole
        texts = [vocabulary.tokens[i] for i in special]
        expected = backend.tokenize(f"{texts[0]}The city{texts[1]}", special=False)
    else:
        expected = [2, *bare, 1]
    assert backend.render_chat(messages, generation_prompt=False) == expected


def test_a_file_without_a_template_has_none(tmp_path: Path) -> None:
    backend = sonde.load(str(write_gguf(tmp_path / "tiny.gguf")), device="cpu").backend
    with pytest.raises(BadRequest, match="no chat template"):
        backend.render_chat([{"role": "user", "content": "The city"}])


def test_the_token_that_ends_a_turn_ends_a_completion(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "tiny.gguf", None, pieces_and_scores(), eot_token_id=259)
    assert sonde.load(str(file), device="cpu").describe().end_ids == [2, 259]


def test_01_a_tokenizer_that_makes_other_tokens_is_refused_and_not_kept(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_gguf(tmp_path / "tiny.gguf", None, None, add_bos_token=True, bos_token_id=0)
    monkeypatch.setattr(gguf_file, "build", lambda said: tiny_tokenizer())  # adds nothing
    with pytest.raises(
        BadRequest, match=r"tiny\.gguf: the tokenizer made from it gives '' .*\[0\]"
    ):
        converted(file, "tiny", lambda line: None)
    assert list((cache / "models").iterdir()) == []


def test_more_tokens_than_embeddings_are_refused(tmp_path: Path) -> None:
    file = write_gguf(
        tmp_path / "tiny.gguf", tiny_llama().requires_grad_(False), pieces_and_scores()
    )
    with pytest.raises(BadRequest, match=r"has \d+ tokens and embeddings for 329 of them"):
        converted(file, "tiny", lambda line: None)


def test_older_recipes_gave_the_directory_another_name(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "tiny.gguf")
    names = {cache_name(file, "tiny"), *(cache_name(file, "tiny", recipe) for recipe in OLDER)}
    assert len(names) == 1 + len(OLDER)
