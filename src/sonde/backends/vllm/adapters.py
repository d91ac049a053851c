"""Which module of a vLLM decoder layer is which hook, by the layer's class.

A table and not a discovery: vLLM's layers pass the residual stream on in two halves and fuse its
sum with the next norm, so that tensors can not be told apart by watching. A class is in the table
when a model of it has passed the parity tests; any other class is refused by name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from torch import nn

from sonde.errors import BadRequest

INPUT = "input_layernorm"
"""In every class of the table, the norm that receives the stream entering the layer."""
ELSEWHERE = "PPMissingLayer"
"""What vLLM puts where a layer lies on another rank."""


@dataclass(frozen=True)
class Names:
    """Child modules of one layer class, at whose edges the hooks act."""

    post_attn: str = "post_attention_layernorm"
    """Receives both halves of the stream after attention."""
    mlp: str = "mlp"
    """Receives `mlp_in`."""
    mlp_out: str = "mlp"
    """Returns what is added to the stream."""


_EXPERTS = Names(mlp="block_sparse_moe", mlp_out="block_sparse_moe")
_NORMED = Names(post_attn="pre_feedforward_layernorm", mlp_out="post_feedforward_layernorm")

ADAPTERS: Mapping[str, Names] = MappingProxyType(
    {
        "LlamaDecoderLayer": Names(),
        "MistralDecoderLayer": Names(),
        "Qwen2DecoderLayer": Names(),
        "Qwen3DecoderLayer": Names(),
        "MixtralDecoderLayer": _EXPERTS,
        "Gemma2DecoderLayer": _NORMED,
        "Gemma3DecoderLayer": _NORMED,
    }
)


@dataclass(frozen=True)
class Places:
    """The modules of one layer at whose edges the hooks act."""

    layer: nn.Module
    before: nn.Module
    post_attn: nn.Module
    mlp: nn.Module
    mlp_out: nn.Module


def places_of(model: nn.Module) -> dict[int, Places]:
    """The layers that this rank holds, by their number in the whole model."""
    layers = decoder_layers(model)
    here = {i: layer for i, layer in enumerate(layers) if type(layer).__name__ != ELSEWHERE}
    for layer in here.values():
        _check_known(layer)
    return {i: _places(layer, ADAPTERS[type(layer).__name__]) for i, layer in here.items()}


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


def _places(layer: nn.Module, names: Names) -> Places:
    return Places(
        layer,
        layer.get_submodule(INPUT),
        layer.get_submodule(names.post_attn),
        layer.get_submodule(names.mlp),
        layer.get_submodule(names.mlp_out),
    )
