"""What is loaded, as the engine's configuration and the ranks' replies tell it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from sonde.backends.base import Site
from sonde.backends.vllm.captured import kept_dtype
from sonde.backends.vllm.collective import all_weights, stages_of
from sonde.backends.vllm.heads import Shard
from sonde.schema import HOOK_TABLE, HOOKS, HeadShape, Hook, ModelDescription, SpecialTokens

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
    """Ranks that hold the same activations, and heads of their own: the tensor-parallel group."""
    stage_of: tuple[int, ...]
    """The stage of the pipeline that holds each layer, and with it what was captured there."""
    block: int | None
    """Tokens that the prefix cache shares at a time; None when there is no such cache."""
    in_flight: int
    """Rows that the engine works on at once."""

    @property
    def stages(self) -> int:
        """How many stages the pipeline has."""
        return max(self.stage_of) + 1

    def shard(self, share: int = 0) -> Shard:
        """What one share of the tensors has."""
        return Shard(self.description.width, self.description.heads, share, self.shares)

    def beside(self, taken: Site, site: Site) -> bool:
        """Whether every rank that holds `site` holds what is taken, too."""
        if self.stage_of[taken.layer] != self.stage_of[site.layer]:
            return False
        if self.shares == 1:
            return True
        shards = [self.shard(share) for share in range(self.shares)]
        holders = [each for each in shards if each.has(site.hook, site.head)]
        return all(each.has(taken.hook, taken.head) for each in holders)

    def kept_bytes(self, hooks: Sequence[Hook], layers: int, positions: int) -> int:
        """What a run of so many sites takes on all ranks together."""
        shard = self.shard()
        per_site = [kept_dtype(hook, self.dtype).itemsize * shard.row_width(hook) for hook in hooks]
        return sum(per_site) * layers * positions * self.shares

    def computed_tokens(self, first: int, n_tokens: int) -> int:
        """Positions of a prompt that a row patched at `first` computes, the rest being cached."""
        shared = 0 if self.block is None else first // self.block * self.block
        return n_tokens - shared


def facts_of(
    name: str,
    config: Any,
    replies: Sequence[Mapping[str, Any]],
    end_ids: Sequence[int],
    special: SpecialTokens,
) -> Facts:
    """From vLLM's configuration and what each rank said when it was tapped."""
    model, parallel = config.model_config, config.parallel_config
    text = model.hf_text_config
    heads = _united_heads(replies)
    known = [hook for hook in HOOKS if all(hook in reply["hooks"] for reply in replies)]
    description = ModelDescription(
        name=name,
        architecture=model.architectures[0],
        backend="vllm",
        n_layers=text.num_hidden_layers,
        width=model.get_hidden_size(),
        vocabulary=model.get_vocab_size(),
        max_tokens=model.max_model_len - 1,  # vLLM wants room for the token it samples
        hooks=[hook for hook in known if heads is not None or HOOK_TABLE[hook].per == "model"],
        heads=heads,
        end_ids=list(end_ids),
        special_tokens=special,
        dtype=str(model.dtype).removeprefix("torch."),
        device=replies[0]["device"],
        weights=united_weights(all_weights(replies)),
        path="whole_sequence",
        path_reason=REASON,
        exact=False,
        exact_reason="vLLM's products depend on the batch",
    )
    return Facts(
        description,
        model.dtype,
        parallel.tensor_parallel_size,
        stages_of(replies),
        config.cache_config.block_size if config.cache_config.enable_prefix_caching else None,
        config.scheduler_config.max_num_seqs,
    )


def _united_heads(replies: Sequence[Mapping[str, Any]]) -> HeadShape | None:
    """The heads of the model, where all ranks say the same of them."""
    first = replies[0]["heads"]
    alike = first is not None and all(reply["heads"] == first for reply in replies)
    return HeadShape(**first) if alike else None


def united_weights(fingerprints: Sequence[str]) -> str:
    """One name for the weights of all ranks, 16 hex digits."""
    return hashlib.sha256(" ".join(fingerprints).encode()).hexdigest()[:16]
