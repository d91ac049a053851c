"""Tiny random models of every architecture that the torch backend promises, and some it does not.

`Parts` names modules explicitly, as a reader of the model's source would: the tests' own reference
must not find them the way the product does.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

import torch
import transformers
from torch import nn
from transformers import PreTrainedModel

from sonde.schema import CLASSIC_HOOKS, LAYER_HOOKS, Hook

VOCABULARY = 97
WIDTH = 32


@dataclass(frozen=True)
class Parts:
    """Names of the modules whose inputs and outputs are the hooks.

    Where a name differs from layer to layer, all are given; the first that a layer has is meant.
    """

    layers: str = "model.layers"
    attention_branch: tuple[str, ...] = ("self_attn",)
    """Returns what is added to the residual before the MLP."""
    mlp: tuple[str, ...] = ("mlp",)
    mlp_branch: tuple[str, ...] = ("mlp",)
    """Returns what is added to the residual after it."""

    def layers_of(self, model: nn.Module) -> list[nn.Module]:
        """The decoder layers."""
        return list(model.get_submodule(self.layers).children())


@dataclass(frozen=True)
class Architecture:
    """How to build a tiny one, and what the backend must say of it."""

    name: str
    config: str
    options: dict[str, Any] = field(default_factory=dict)
    """Besides the common ones; None leaves an option out."""
    parts: Parts = field(default_factory=Parts)
    hooks: tuple[Hook, ...] = LAYER_HOOKS
    path: Literal["packed", "whole_sequence"] = "packed"
    spread: float = 0.2

    def build(self, seed: int = 0) -> PreTrainedModel:
        """A model in eval mode; the same seed gives the same weights."""
        given = {k: v for k, v in (_COMMON | self.options).items() if v is not None}
        config = getattr(transformers, self.config)(**given)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model: PreTrainedModel = transformers.AutoModelForCausalLM.from_config(
                config, attn_implementation="eager"
            )
            _spread(model, self.spread)
        return model.eval().requires_grad_(False)


_COMMON: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": WIDTH,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
    "tie_word_embeddings": False,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 2,
}


def _spread(model: nn.Module, scale: float) -> None:
    """Draw matrices wider than usual and move the norms off one, so that every part matters."""
    for name, weight in model.named_parameters():
        if name.endswith(("A_log", "dt_bias", ".D", "dt_proj.bias")):
            continue  # a recurrence keeps its own range, or it overflows
        with torch.no_grad():
            if weight.ndim >= 2:
                weight.normal_(0.0, scale)
            else:
                weight.add_(torch.randn_like(weight) * 0.1)


NORMED = Parts(
    attention_branch=("post_attention_layernorm",), mlp_branch=("post_feedforward_layernorm",)
)
FEED_FORWARD = Parts(
    attention_branch=("mamba", "conv", "self_attn"),
    mlp=("feed_forward",),
    mlp_branch=("feed_forward",),
)
NEOX = Parts("gpt_neox.layers", ("attention",))
EDGES: tuple[Hook, ...] = ("pre_attn", "post_block")
WINDOW = {"sliding_window": 6}
GEMMA = {**WINDOW, "query_pre_attn_scalar": 8}
EXPERTS = {
    "num_local_experts": 4,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 24,
    "shared_expert_intermediate_size": 24,
}
JAMBA = {
    "attn_layer_period": 2,
    "attn_layer_offset": 1,
    "expert_layer_period": 2,
    "expert_layer_offset": 1,
    "mamba_d_state": 8,
}
DELTA = {
    "layer_types": ["linear_attention", "linear_attention", "full_attention"],
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
}

_ALL = (
    Architecture("llama", "LlamaConfig"),
    Architecture("qwen2", "Qwen2Config"),
    Architecture("qwen3", "Qwen3Config"),
    Architecture("mistral", "MistralConfig", WINDOW),
    Architecture("gemma2", "Gemma2Config", GEMMA, NORMED),
    Architecture("gemma3", "Gemma3TextConfig", {**GEMMA, "sliding_window_pattern": 2}, NORMED),
    Architecture("phi3", "Phi3Config"),
    Architecture("olmo2", "Olmo2Config", {}, NORMED),
    Architecture("gpt2", "GPT2Config", {"n_inner": 48}, Parts("transformer.h", ("attn",))),
    Architecture(
        "neox_parallel",
        "GPTNeoXConfig",
        {"use_parallel_residual": True},
        NEOX,
        hooks=("pre_attn", "post_block", "mlp_in", "mlp_out"),
    ),
    Architecture("neox_sequential", "GPTNeoXConfig", {"use_parallel_residual": False}, NEOX),
    Architecture("mixtral", "MixtralConfig", EXPERTS),
    Architecture("qwen3_moe", "Qwen3MoeConfig", EXPERTS),
    Architecture("gpt_oss", "GptOssConfig", {**EXPERTS, **WINDOW, "rope_parameters": None}),
    Architecture(
        "mamba",
        "MambaConfig",
        {"state_size": 8, "intermediate_size": 64, "max_position_embeddings": None},
        Parts("backbone.layers"),
        hooks=EDGES,
        path="whole_sequence",
    ),
    Architecture(
        "jamba",
        "JambaConfig",
        {**EXPERTS, **JAMBA},
        FEED_FORWARD,
        hooks=CLASSIC_HOOKS,
        path="whole_sequence",
    ),
    Architecture(
        "lfm2",
        "Lfm2Config",
        {"layer_types": ["conv", "full_attention", "conv"]},
        FEED_FORWARD,
        hooks=CLASSIC_HOOKS,
        path="whole_sequence",
    ),
    Architecture(
        "qwen3_next",
        "Qwen3NextConfig",
        {**EXPERTS, **DELTA},
        Parts(attention_branch=("linear_attn", "self_attn")),
        hooks=CLASSIC_HOOKS,
        path="whole_sequence",
    ),
    Architecture(
        "bloom",  # its layers return tuples and its attention cannot be replaced
        "BloomConfig",
        {},
        Parts("transformer.h", ("self_attention",)),
        hooks=("pre_attn", "post_block", "mlp_in"),
        path="whole_sequence",
    ),
)

ARCHITECTURES = {architecture.name: architecture for architecture in _ALL}
PACKED = [name for name, each in ARCHITECTURES.items() if each.path == "packed"]
WHOLE = [name for name, each in ARCHITECTURES.items() if each.path == "whole_sequence"]
