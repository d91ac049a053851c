"""Read a GGUF file as an ordinary model directory, converted once.

1. **Tokenize** as the file says (`gguf_tokenizer`): vocabulary, added tokens, chat template.
2. **Dequantise** the tensors to float32 through transformers.
3. **Rebuild** the model without its quantisation mark: marked, it refuses to be saved.
4. **Keep** both in the cache, under a name that holds the file's SHA-256, if the tokenizer that is
   read back from there makes the file's tokens.

The numbers are those of the quantised model, exactly; the original's precision is gone for good.
"""

import hashlib
import io
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from time import perf_counter

import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from sonde.backends.torch.loading.checkpoint import UNREADABLE
from sonde.backends.torch.loading.gguf_tokenizer import build, compare
from sonde.backends.torch.loading.gguf_tokens import FileTokens, read_file_tokens
from sonde.backends.torch.loading.model_cache import cached, place
from sonde.backends.torch.loading.reasons import one_line
from sonde.backends.torch.loading.tokenizer import load_tokenizer
from sonde.errors import BadRequest

RECIPE = "2"
"""Raise it when a conversion would now give other numbers or tokens."""
OLDER = ("1",)
"""Recipes that gave the models with a short name the same numbers and tokens as this one."""


def converted(gguf: Path, name: str, say: Callable[[str], None]) -> Path:
    """A model directory with the GGUF's weights and tokenizer, called `name-<hash>`."""

    def build_in(directory: Path) -> None:
        say(f"converting {gguf.name} to safetensors, once: about 20 s for 135M parameters")
        began = perf_counter()
        said, model = read(gguf)
        model.save_pretrained(directory)
        build(said).save_pretrained(directory)
        compare(load_tokenizer(directory), said, str(gguf))
        say(f"converted {gguf.name} in {perf_counter() - began:.1f} s; kept in {place(kept)}")

    kept = cache_name(gguf, name)
    return cached(kept, build_in)


def cache_name(gguf: Path, name: str, recipe: str = RECIPE) -> str:
    """The directory's name: another file, or another recipe, has another one."""
    with gguf.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update(recipe.encode())
    return f"{name}-{digest.hexdigest()[:16]}"


def read(gguf: Path) -> tuple[FileTokens, PreTrainedModel]:
    """What the file says about tokens, and its model; or what is wrong with the file."""
    try:
        said = read_file_tokens(gguf)
        model = dequantise(gguf)
    except UNREADABLE as error:
        raise BadRequest(f"cannot read {gguf} as a GGUF model: {one_line(error)}") from error
    rows = model.get_input_embeddings().weight.shape[0]
    if len(said.tokens) > rows:
        raise BadRequest(f"{gguf} has {len(said.tokens)} tokens and embeddings for {rows} of them")
    if said.eot is not None and said.eos is not None and model.generation_config is not None:
        model.generation_config.eos_token_id = sorted({said.eos, said.eot})
    return said, model


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
