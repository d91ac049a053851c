"""A model without its layers: what it does before them and after them, done as the model does it.

A shallow copy of a model, sharing every parameter, whose decoder layers are replaced by stand-ins.
`unembedding` uses it for what follows the layers; `Calls` are what layers are called with. The
model itself is not touched.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn
from transformers import PreTrainedModel

from sonde.backends.torch.hooking import received_tensor
from sonde.backends.torch.layout import find_layers
from sonde.backends.torch.packed.trace import LayerCall


class _Enough(Exception):
    """Raised by the last stand-in: what follows the layers is not wanted."""


class Calls:
    """What the layers of a model are called with, found without running them."""

    def __init__(self, model: PreTrainedModel, tuple_of: int | None = None) -> None:
        """Its layers return a tensor, or a tuple of so many values."""
        self._depth, self._tuple_of = len(find_layers(model)), tuple_of
        self._found: list[LayerCall] = []
        self._shell = with_stand_ins(model, [self._stand_in] * self._depth)

    def of(self, ids: Tensor, positions: Tensor) -> tuple[Tensor, list[LayerCall]]:
        """Token ids and positions [1, rows] -> what enters the first layer, and every call."""
        self._found = []
        try:
            self._shell(input_ids=ids, position_ids=positions, use_cache=False)
        except _Enough:
            return self._entering, self._found
        raise AssertionError("the model did not call its layers one by one")

    def _stand_in(self, *args: Any, **kwargs: Any) -> object:
        given = received_tensor(args, kwargs)
        assert given is not None
        if not self._found:
            self._entering = given
        rest = {name: value for name, value in kwargs.items() if name != "hidden_states"}
        self._found.append(LayerCall(args[1:], rest))
        if len(self._found) == self._depth:
            raise _Enough
        return given if self._tuple_of is None else (given, *[None] * (self._tuple_of - 1))


def with_stand_ins(model: PreTrainedModel, forwards: Sequence[Callable[..., object]]) -> nn.Module:
    """A copy of `model`, sharing its parameters, with one layer for each of `forwards`."""
    layers = find_layers(model)
    root: nn.Module = copy.copy(model)
    root._modules = dict(model._modules)
    stand_ins = [_stand_in(layers[i], forward) for i, forward in enumerate(forwards)]
    put(root, model, layers, nn.ModuleList(stand_ins))
    return root


def _stand_in(layer: nn.Module, forward: Callable[..., object]) -> nn.Module:
    out = copy.copy(layer)
    out._modules = {}
    out.forward = forward
    return out


def put(root: nn.Module, model: nn.Module, old: nn.Module, new: nn.Module) -> None:
    """Put `new` where `old` is, copying the modules on the way so that `model` keeps `old`."""
    *path, last = next(name for name, module in model.named_modules() if module is old).split(".")
    parent = root
    for name in path:
        child = parent._modules[name]
        assert child is not None
        twin = copy.copy(child)
        twin._modules = dict(child._modules)
        parent._modules[name] = twin
        parent = twin
    parent._modules[last] = new
