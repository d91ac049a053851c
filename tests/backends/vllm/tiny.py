"""Tiny random models on disk, in shapes that vLLM's CPU kernels take."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.loading.load import load_model
from sonde.backends.vllm.backend import VllmBackend
from sonde.backends.vllm.load import load_backend
from tests.architectures import ARCHITECTURES
from tests.tiny_model import VOCABULARY, tiny_tokenizer

SHAPE = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "head_dim": 32,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "num_hidden_layers": 3,
    "max_position_embeddings": 128,
    "eos_token_id": 0,
    "pad_token_id": 0,
}
"""Heads of 32: vLLM's attention on a CPU takes no narrower ones."""
FAMILIES = (
    "llama",
    "qwen2",
    "qwen3",
    "mistral",
    "gemma2",
    "gemma3",
    "mixtral",
)
OPTIONS = {"max_model_len": 128, "max_num_seqs": 64, "max_num_batched_tokens": 2048}


def save(name: str, directory: Path, **options: Any) -> Path:
    """A model of that architecture, with a tokenizer beside it."""
    architecture = ARCHITECTURES[name]
    tied = {"tie_word_embeddings": name.startswith("gemma")}  # vLLM has no other Gemma
    made = replace(architecture, options=architecture.options | SHAPE | tied | options)
    made.build().save_pretrained(directory)
    tiny_tokenizer().save_pretrained(directory)
    return directory


def on_vllm(directory: Path | str, **options: Any) -> VllmBackend:
    """An engine in this process over a saved model; `options` go to `load_backend`."""
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    given = OPTIONS | options.pop("options", {})
    return load_backend(str(directory), options=given, **options)


def on_torch(directory: Path | str, dtype: str = "float32") -> TorchBackend:
    """The same model on the torch backend."""
    return TorchBackend(load_model(str(directory), dtype=dtype))
