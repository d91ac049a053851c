"""Read a GGUF file as an ordinary model directory, converted once.

1. **Dequantise** the tensors to float32 through transformers.
2. **Rebuild** the model without its quantisation mark: marked, it refuses to be saved.
3. **Mend** the tokenizer, whose splitting rule transformers does not take from the file.
4. **Keep** both in the cache, under a name that holds the file's SHA-256.

The numbers are those of the quantised model, exactly; the original's precision is gone for good.
"""

import hashlib
import io
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from time import perf_counter

import torch
from gguf import GGUFReader
from tokenizers import pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from sonde.backends.torch.loading.checkpoint import UNREADABLE
from sonde.backends.torch.loading.model_cache import cached, place
from sonde.backends.torch.loading.reasons import one_line
from sonde.errors import BadRequest

RECIPE = "1"
"""Raise it when a conversion would now give other numbers or tokens."""


def converted(gguf: Path, name: str, say: Callable[[str], None]) -> Path:
    """A model directory with the GGUF's weights and tokenizer, called `name-<hash>`."""

    def build(directory: Path) -> None:
        say(f"converting {gguf.name} to safetensors, once: about 20 s for 135M parameters")
        began = perf_counter()
        model, tokenizer = read(gguf)
        model.save_pretrained(directory)
        tokenizer.save_pretrained(directory)
        say(f"converted {gguf.name} in {perf_counter() - began:.1f} s; kept in {place(kept)}")

    kept = cache_name(gguf, name)
    return cached(kept, build)


def cache_name(gguf: Path, name: str) -> str:
    """The directory's name: another file, or another recipe, has another one."""
    with gguf.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update(RECIPE.encode())
    return f"{name}-{digest.hexdigest()[:16]}"


def read(gguf: Path) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The file's model and tokenizer, or what is wrong with the file."""
    try:
        return dequantise(gguf), read_tokenizer(gguf)
    except UNREADABLE as error:
        raise BadRequest(f"cannot read {gguf} as a GGUF model: {one_line(error)}") from error


def dequantise(gguf: Path) -> PreTrainedModel:
    """The model in float32, free of the quantisation mark."""
    with redirect_stderr(io.StringIO()):  # its bar asks nobody whether it is wanted
        marked, report = AutoModelForCausalLM.from_pretrained(
            gguf.parent, gguf_file=gguf.name, dtype=torch.float32, output_loading_info=True
        )
    if missing := sorted(report["missing_keys"]):
        raise BadRequest(f"{gguf} lacks {len(missing)} weights of its architecture: {missing[:3]}")
    config = marked.config
    del config.quantization_config
    return type(marked).from_pretrained(None, config=config, state_dict=marked.state_dict())


def read_tokenizer(gguf: Path) -> PreTrainedTokenizerBase:
    """The file's tokenizer, splitting text as the file says.

    transformers builds every byte-level tokenizer of a Llama with GPT-2's rule. SmolLM's takes each
    digit alone first, which changes the white space before a number: two spaces, or two newlines,
    are one token there.
    """
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    rule = GGUFReader(gguf).get_field("tokenizer.ggml.pre")
    if rule is not None and rule.contents() == "smollm":
        tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False),
            ]
        )
    return tokenizer
