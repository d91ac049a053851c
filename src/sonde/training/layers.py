"""Which modules are the layers of a model: by structure, never by its name."""

from collections.abc import Sequence
from typing import Any

from torch import nn

from sonde.errors import BadTrainer, LayerOutOfRange


def decoder_layers(model: Any) -> nn.ModuleList:
    """The layers of a causal language model, wrapped or not."""
    wanted = model.config.get_text_config().num_hidden_layers
    roots = [_decoder(model), model]
    for root in roots:
        for module in root.modules():
            if isinstance(module, nn.ModuleList) and len(module) == wanted:
                return module
    raise BadTrainer(
        f"{type(model).__name__} has no list of {wanted} layers, as its configuration says; "
        "the sidecar reads decoder models of the transformers library"
    )


def chosen(model: Any, indices: Sequence[int]) -> dict[int, nn.Module]:
    """The layers with these numbers."""
    layers = decoder_layers(model)
    for index in indices:
        if not 0 <= index < len(layers):
            raise LayerOutOfRange(index, len(layers))
    return {index: layers[index] for index in indices}


def _decoder(model: Any) -> nn.Module:
    """The text part, where a model can say which it is: a vision tower has layers too."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    found: nn.Module = inner.get_decoder() if hasattr(inner, "get_decoder") else inner
    return found if isinstance(found, nn.Module) else model
