"""What is loaded, as the engine's configuration and the ranks' replies tell it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from sonde.backends.vllm.captured import kept_dtype
from sonde.backends.vllm.collective import all_weights
from sonde.schema import HOOKS, Hook, ModelDescription

REASON = (
    "vLLM computes every position from the lowest patched one on, in all layers; "
    "what lies below comes from its prefix cache"
)


@dataclass(frozen=True)
class Facts:
    """What does not change while a model is loaded."""

    description: ModelDescription
    dtype: torch.dtype
    shares: int
    """Ranks that hold the same activations: the size of the tensor-parallel group."""
    stages: int
    block: int | None
    """Tokens that the prefix cache shares at a time; None when there is no such cache."""
    in_flight: int
    """Rows that the engine works on at once."""

    def kept_bytes(self, hooks: Sequence[Hook], layers: int, positions: int) -> int:
        """What a run of so many sites takes on all ranks together."""
        per_site = sum(kept_dtype(hook, self.dtype).itemsize for hook in hooks)
        return per_site * self.description.width * layers * positions * self.shares

    def computed_tokens(self, first: int, n_tokens: int) -> int:
        """Positions of a prompt that a row patched at `first` computes, the rest being cached."""
        shared = 0 if self.block is None else first // self.block * self.block
        return n_tokens - shared


def facts_of(
    name: str, config: Any, replies: Sequence[Mapping[str, Any]], end_ids: Sequence[int]
) -> Facts:
    """From vLLM's configuration and what each rank said when it was tapped."""
    model, parallel = config.model_config, config.parallel_config
    text = model.hf_text_config
    description = ModelDescription(
        name=name,
        architecture=model.architectures[0],
        backend="vllm",
        n_layers=text.num_hidden_layers,
        width=model.get_hidden_size(),
        vocabulary=model.get_vocab_size(),
        max_tokens=model.max_model_len - 1,  # vLLM wants room for the token it samples
        hooks=list(HOOKS),
        end_ids=list(end_ids),
        dtype=str(model.dtype).removeprefix("torch."),
        device=replies[0]["device"],
        weights=united_weights(all_weights(replies)),
        path="whole_sequence",
        path_reason=REASON,
        exact=False,
    )
    return Facts(
        description,
        model.dtype,
        parallel.tensor_parallel_size,
        parallel.pipeline_parallel_size,
        config.cache_config.block_size if config.cache_config.enable_prefix_caching else None,
        config.scheduler_config.max_num_seqs,
    )


def united_weights(fingerprints: Sequence[str]) -> str:
    """One name for the weights of all ranks, 16 hex digits."""
    return hashlib.sha256(" ".join(fingerprints).encode()).hexdigest()[:16]
