"""Which module of a vLLM decoder layer is which hook, by the layer's class.

A table and not a discovery: vLLM's layers pass the residual stream on in two halves and fuse its
sum with the next norm, so that tensors can not be told apart by watching. A class is in the table
when a model of it has passed the parity tests; any other class is refused by name.

Queries, keys and values are what the attention kernel is called with, after their norms and rotary
angles; z is what the output projection is called with. Weights of attention are nowhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from torch import nn

from sonde.backends.vllm.heads import shape_of
from sonde.errors import BadRequest
from sonde.schema import HOOK_TABLE, HOOKS, HeadShape, Hook

ELSEWHERE = "PPMissingLayer"
"""What vLLM puts where a layer lies on another rank."""

Side = Literal["in", "out"]
"""What a module receives, or what it returns."""
Names = Mapping[Hook, tuple[str, Side]]
"""The child module of a layer at whose edge each hook acts; the layer's own name is empty."""

_HEADS: Names = {
    "z": ("self_attn.o_proj", "in"),
    "q": ("self_attn.attn", "in"),
    "k": ("self_attn.attn", "in"),
    "v": ("self_attn.attn", "in"),
}
_USUAL: Names = {
    **_HEADS,
    "pre_attn": ("input_layernorm", "in"),
    "attn_out": ("self_attn", "out"),
    "post_attn": ("post_attention_layernorm", "in"),
    "mlp_in": ("mlp", "in"),
    "mlp_out": ("mlp", "out"),
    "post_block": ("", "out"),
}
_EXPERTS: Names = {
    **_USUAL,
    "mlp_in": ("block_sparse_moe", "in"),
    "mlp_out": ("block_sparse_moe", "out"),
}
_NORMED: Names = {
    **_USUAL,
    "attn_out": ("post_attention_layernorm", "out"),
    "post_attn": ("pre_feedforward_layernorm", "in"),
    "mlp_out": ("post_feedforward_layernorm", "out"),
}

ARGUMENT: Mapping[Hook, int] = MappingProxyType({"k": 1, "v": 2})
"""Which of a module's arguments the activation is, where it is not the first."""

ADAPTERS: Mapping[str, Names] = MappingProxyType(
    {
        "LlamaDecoderLayer": _USUAL,
        "MistralDecoderLayer": _USUAL,
        "Qwen2DecoderLayer": _USUAL,
        "Qwen3DecoderLayer": _USUAL,
        "MixtralDecoderLayer": _EXPERTS,
        "Gemma2DecoderLayer": _NORMED,
        "Gemma3DecoderLayer": _NORMED,
    }
)


@dataclass(frozen=True)
class Edge:
    """Where a hook acts in one layer."""

    module: nn.Module
    side: Side
    argument: int = 0
    """Of those that the module is called with."""


Edges = Mapping[int, Mapping[Hook, Edge]]
"""Layer, by its number in the whole model -> hook -> where it acts."""


def edges_of(model: nn.Module, share: int = 0, shares: int = 1) -> tuple[Edges, HeadShape | None]:
    """Where the hooks act in the layers that this rank holds, and the heads of the whole model.

    Without heads that all layers have alike there are no hooks of heads.
    """
    layers = decoder_layers(model)
    here = {i: layer for i, layer in enumerate(layers) if type(layer).__name__ != ELSEWHERE}
    for layer in here.values():
        _check_known(layer)
    attentions = [getattr(layer, "self_attn", None) for layer in here.values()]
    heads = shape_of(attentions, share, shares)
    hooks = [hook for hook in HOOKS if heads is not None or HOOK_TABLE[hook].per == "model"]
    return {i: _edges(layer, hooks) for i, layer in here.items()}, heads


def hooks_of(edges: Edges) -> list[Hook]:
    """The hooks that all of these layers have."""
    return [hook for hook in HOOKS if all(hook in at for at in edges.values())]


def decoder_layers(model: nn.Module) -> nn.ModuleList:
    """The longest list of modules that are not parts of one another: the decoder's layers."""
    lists = [module for module in model.modules() if isinstance(module, nn.ModuleList)]
    known = [found for found in lists if {type(m).__name__ for m in found} & set(ADAPTERS)]
    best = max(known or lists, key=len, default=None)
    if best is None or not len(best):
        raise BadRequest(
            f"{type(model).__name__} has no list of layers that the vLLM backend could hook; "
            "use backend='torch'"
        )
    return best


def _check_known(layer: nn.Module) -> None:
    name = type(layer).__name__
    if name not in ADAPTERS:
        raise BadRequest(
            f"the vLLM backend does not know the layer class {name}; it knows "
            f"{sorted(ADAPTERS)}. Use backend='torch' for this model"
        )


def _edges(layer: nn.Module, hooks: Sequence[Hook]) -> dict[Hook, Edge]:
    names = ADAPTERS[type(layer).__name__]
    return {
        hook: Edge(layer.get_submodule(names[hook][0]), names[hook][1], ARGUMENT.get(hook, 0))
        for hook in hooks
        if hook in names
    }
