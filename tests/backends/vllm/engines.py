"""Engines on tiny models, in this process, and backends that share one.

An engine takes seconds to start, so tests that need other tokenizers or budgets than those of an
engine that runs put a backend of their own beside the first.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from sonde.backends.vllm.backend import VllmBackend
from sonde.backends.vllm.load import load_backend
from tests.tiny_model import tiny_tokenizer

OPTIONS: Mapping[str, Any] = {"max_model_len": 64, "max_num_seqs": 64}


def saved(model: PreTrainedModel, directory: Path) -> Path:
    """A model directory like any other."""
    model.save_pretrained(directory)
    tiny_tokenizer().save_pretrained(directory)
    return directory


@contextmanager
def started(name: str | Path, **arguments: Any) -> Iterator[VllmBackend]:
    """A backend on an engine of its own, until the block ends."""
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    options = {**OPTIONS, **arguments.pop("options", {})}
    backend = load_backend(str(name), options=options, **arguments)
    try:
        yield backend
    finally:
        backend.close()


def beside(
    first: VllmBackend, tokenizer: PreTrainedTokenizerBase, *, source_budget: int = 2**30
) -> VllmBackend:
    """Another backend on the engine of the first, with a tokenizer and a store of its own."""
    named = first.facts.description.model_copy(update={"name": "tiny"})
    facts = replace(first.facts, description=named)
    return VllmBackend(first._driver, facts, tokenizer, source_budget=source_budget)
