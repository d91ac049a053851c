"""Any name becomes a whole checkpoint; an adapter is merged into its base, once."""

import json
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model

from sonde.backends.torch.loading.checkpoint import load_directory
from sonde.backends.torch.loading.load import load_model
from sonde.backends.torch.loading.tokenizer import load_tokenizer
from sonde.backends.vllm.merged import whole_checkpoint
from sonde.errors import BadRequest, UnknownModel
from tests.tiny_model import save_tiny_model, tiny_llama


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SONDE_CACHE", str(tmp_path / "cache"))


def adapter_over(base: Path, directory: Path) -> Path:
    model = tiny_llama()
    model.name_or_path = model.config.name_or_path = str(base)
    tuned = get_peft_model(model, LoraConfig(r=2, target_modules=["q_proj", "down_proj"]))
    for name, weight in tuned.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight)
    tuned.save_pretrained(directory)
    return directory


def test_a_model_directory_is_taken_as_it_is(tmp_path: Path) -> None:
    base = save_tiny_model(tmp_path / "base")
    assert whole_checkpoint(str(base), lambda _line: None) == base


def test_an_adapter_is_merged_as_the_torch_backend_merges_it_and_only_once(tmp_path: Path) -> None:
    base = save_tiny_model(tmp_path / "base")
    adapter = adapter_over(base, tmp_path / "adapter")
    said: list[str] = []
    merged = whole_checkpoint(str(adapter), said.append)
    expected = load_model(str(adapter)).model.state_dict()
    found = load_directory(merged, torch.float32, torch.device("cpu"), said.append).state_dict()
    assert expected.keys() == found.keys()
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    assert any("merging" in line for line in said)
    said.clear()
    assert whole_checkpoint(str(adapter), said.append) == merged
    assert not any("merging" in line for line in said)


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownModel):
        whole_checkpoint(str(tmp_path / "nowhere"), lambda _line: None)
    (tmp_path / "pickled").mkdir()
    (tmp_path / "pickled" / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(BadRequest, match="pickle"):
        whole_checkpoint(str(tmp_path / "pickled"), lambda _line: None)


def test_a_merged_adapter_keeps_the_tokens_that_its_tokenizer_gives(tmp_path: Path) -> None:
    base = save_tiny_model(tmp_path / "base")
    adapter = adapter_over(base, tmp_path / "adapter")
    plain = whole_checkpoint(str(adapter), lambda _line: None)
    file = base / "tokenizer_config.json"
    asked = {"add_bos_token": True, "tokenizer_class": "LlamaTokenizer"}
    file.write_text(json.dumps(json.loads(file.read_text()) | asked))

    merged = whole_checkpoint(str(adapter), lambda _line: None)

    assert merged != plain  # one that was merged with other tokens is not taken for it
    expected = load_model(str(adapter), device="cpu").tokenizer("The Eiffel").input_ids
    assert load_tokenizer(merged)("The Eiffel").input_ids == expected
    assert expected[0] == 0
    assert load_tokenizer(plain)("The Eiffel").input_ids == expected[1:]
