"""Tiny GGUF files, as llama.cpp writes them: a random Llama and a vocabulary of one's choice."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGUFWriter
from numpy.typing import NDArray
from transformers import LlamaConfig, LlamaForCausalLM

from tests.tiny_model import SENTENCES, tiny_tokenizer

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
TEMPLATE = "{{ bos_token }}{% for m in messages %}{{ m['content'] }}{{ eos_token }}{% endfor %}"


@dataclass(frozen=True)
class Vocabulary:
    """The part of a file that says how text becomes tokens, without what it adds."""

    model: str
    tokens: Sequence[str]
    kinds: Sequence[int]
    scores: Sequence[float] | None = None
    merges: Sequence[str] | None = None
    pre: str | None = None
    ids: Mapping[str, int] = field(default_factory=dict)


def bytes_and_merges(pre: str | None = "gpt-2") -> Vocabulary:
    """The tiny byte-level tokenizer's."""
    bpe = json.loads(tiny_tokenizer().backend_tokenizer.to_str())["model"]
    tokens = sorted(bpe["vocab"], key=bpe["vocab"].__getitem__)
    merges = [" ".join(merge) for merge in bpe["merges"]]
    kinds = [3] + [1] * (len(tokens) - 1)
    return Vocabulary("gpt2", tokens, kinds, merges=merges, pre=pre, ids={"eos": 0})


def pieces_and_scores(first: Sequence[str] = ("<unk>", "<s>", "</s>")) -> Vocabulary:
    """A vocabulary of pieces, as SentencePiece makes them: whole words, their halves and bytes."""
    words = sorted({word for line in SENTENCES for word in f" {line}".replace(" ", " ▁").split()})
    ends = {word[:cut] for word in words for cut in range(2, len(word))}
    letters = sorted({letter for word in words for letter in word} | set("0123456789'.,"))
    pieces = [
        *sorted(ends - set(words) - set(letters), key=lambda end: (len(end), end)),
        *words,
        "▁▁",
        "▁▁▁▁",
    ]
    tokens = [*first, *(f"<0x{byte:02X}>" for byte in range(256)), "<turn>", *letters, *pieces]
    special = len(first)
    kinds = [2, *[3] * (special - 1), *[6] * 256, 4, *[1] * (len(letters) + len(pieces))]
    scores = [0.0] * (special + 256 + 1) + [-1000.0] * len(letters)
    scores += [float(len(piece) - 100) - i / 1000 for i, piece in enumerate(pieces)]
    return Vocabulary("llama", tokens, kinds, scores, ids={"unknown": 0, "bos": 1, "eos": 2})


def model_for(vocabulary: Vocabulary, seed: int = 0) -> LlamaForCausalLM:
    """A random Llama of two layers with an embedding for each token."""
    config = LlamaConfig(
        vocab_size=len(vocabulary.tokens), hidden_size=16, intermediate_size=24,
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=64, initializer_range=0.3, tie_word_embeddings=True,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(config).eval().requires_grad_(False)


def interleaved(weight: torch.Tensor, heads: int) -> NDArray[np.float32]:
    """Rows of a query or key matrix in the order GGUF keeps them for rotary embeddings."""
    rows, columns = weight.shape
    pairs = weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2)
    return pairs.reshape(rows, columns).numpy()


def write_gguf(
    file: Path,
    model: LlamaForCausalLM | None = None,
    vocabulary: Vocabulary | None = None,
    **said: Any,
) -> Path:
    """A model in float32 and a vocabulary; `said` are further keys under `tokenizer.ggml`.

    A flag or an id that is not given is not written. `chat_template` has a place of its own.
    """
    words = vocabulary or bytes_and_merges()
    model = model or model_for(words)
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
    _write_words(writer, words, said)
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


def _write_words(writer: GGUFWriter, words: Vocabulary, said: dict[str, Any]) -> None:
    writer.add_tokenizer_model(words.model)
    if words.pre is not None:
        writer.add_tokenizer_pre(words.pre)
    writer.add_token_list(list(words.tokens))
    writer.add_token_types(list(words.kinds))
    if words.scores is not None:
        writer.add_token_scores(list(words.scores))
    if words.merges is not None:
        writer.add_token_merges(list(words.merges))
    ids = {f"{name}_token_id": token for name, token in words.ids.items()}
    for name, value in {**ids, **said}.items():
        if name == "chat_template":
            writer.add_chat_template(value)
        elif isinstance(value, bool):
            writer.add_bool(f"tokenizer.ggml.{name}", value)
        else:
            writer.add_uint32(f"tokenizer.ggml.{name}", value)
