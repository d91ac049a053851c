import json
from pathlib import Path

import numpy as np
import pytest
import torch
from gguf import GGUFWriter
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

from sonde.backends.torch.loading.gguf_file import cache_name, converted
from sonde.backends.torch.loading.quiet import quiet
from sonde.errors import BadRequest
from tests.tiny_model import tiny_llama, tiny_tokenizer

NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "model.layers": "blk",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SONDE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def interleaved(weight: torch.Tensor, heads: int) -> NDArray[np.float32]:
    """Rows of a query or key matrix in the order GGUF keeps them for rotary embeddings."""
    rows, columns = weight.shape
    pairs = weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2)
    return pairs.reshape(rows, columns).numpy()


def write_gguf(file: Path, model: LlamaForCausalLM, rule: str = "gpt-2") -> Path:
    """The model and the tiny tokenizer as llama.cpp writes them, in float32."""
    writer, config = GGUFWriter(file, "llama"), model.config
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    bpe = json.loads(tiny_tokenizer().backend_tokenizer.to_str())["model"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(rule)
    writer.add_token_list(sorted(bpe["vocab"], key=bpe["vocab"].__getitem__))
    writer.add_token_types([3] + [1] * (len(bpe["vocab"]) - 1))
    writer.add_token_merges([" ".join(merge) for merge in bpe["merges"]])
    writer.add_eos_token_id(0)
    for name, weight in model.state_dict().items():
        if name == "lm_head.weight":
            continue  # tied
        heads = {"q_proj": 4, "k_proj": 2}.get(name.split(".")[-2])
        for theirs, ours in NAMES.items():
            name = name.replace(theirs, ours)
        writer.add_tensor(name, interleaved(weight, heads) if heads else weight.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


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
    file = write_gguf(tmp_path / "tiny.gguf", model, rule=rule)
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
