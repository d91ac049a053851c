"""A directory that vLLM can load, for any name that `sonde.load` takes.

vLLM reads whole checkpoints. A GGUF file is converted once, as for the torch backend; an adapter is
merged into its base once, and the result kept in the same cache, under a name that holds the hashes
of both.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path

import torch

from sonde.backends.torch.loading.adapter import (
    WEIGHTS,
    find_base,
    is_adapter,
    load_adapter,
    tokens_of,
)
from sonde.backends.torch.loading.checkpoint import refuse_other_formats
from sonde.backends.torch.loading.locate import locate
from sonde.backends.torch.loading.model_cache import cached
from sonde.backends.torch.loading.quiet import quiet
from sonde.backends.torch.loading.tokenizer import load_tokenizer

RECIPE = "2"
"""Raise it when a merge would now give other numbers or tokens."""


def whole_checkpoint(name: str, say: Callable[[str], None]) -> Path:
    """The directory of a whole model with its tokenizer."""
    with quiet():
        directory = locate(name, say).directory
        if not is_adapter(directory):
            refuse_other_formats(directory)
            return directory
        return _merged(directory, find_base(directory, say), say)


def _merged(adapter: Path, base: Path, say: Callable[[str], None]) -> Path:
    def build(target: Path) -> None:
        say(f"merging {adapter} into {base}, once")
        model = load_adapter(adapter, base, None, torch.device("cpu"), say)
        model.save_pretrained(target)
        load_tokenizer(tokens_of(adapter, base)).save_pretrained(target)

    return cached(f"{adapter.name}-{_digest(adapter, base)}", build)


def _digest(adapter: Path, base: Path) -> str:
    """Of the adapter's weights, settings and tokens, and of which files its base is made of."""
    digest = hashlib.sha256(RECIPE.encode())
    tokens = tokens_of(adapter, base)
    for file in (
        adapter / WEIGHTS,
        adapter / "adapter_config.json",
        *(tokens / name for name in ("tokenizer.json", "tokenizer_config.json")),
        tokens / "chat_template.jinja",
    ):
        digest.update(file.read_bytes() if file.is_file() else b"")
    for file in sorted(base.glob("*.safetensors")):
        seen = file.stat()
        digest.update(f"{file.resolve()} {seen.st_size} {seen.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
