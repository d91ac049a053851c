"""Which module is which hook, found by watching a model run, never by its name.

One short forward pass is recorded. Inside each decoder layer the order of calls and the identity of
tensors tell the parts apart:

- the *attention* child is the one inside which the attention function was called;
- the *MLP* is the one other child with matrices;
- the residual *after attention* is a tensor that some later child receives and no child returned;
- the *MLP branch* is the last child's output, and it is taken only if adding it to that residual
  gives the layer's output, bit for bit.

A hook is offered only where this evidence holds in every layer. What fails it (parallel blocks have
no residual between attention and MLP, scaled branches are not a module's output) is simply not a
hook of that model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from sonde.errors import EngineError
from sonde.schema import HOOKS, Hook


@dataclass(frozen=True)
class LayerSites:
    """The modules of one layer at whose edges the in-layer hooks act."""

    layer: nn.Module
    post_attn: nn.Module | None
    """Receives the residual after attention; the residual add reads the same tensor."""
    mlp: nn.Module | None
    """Receives `mlp_in`."""
    mlp_out: nn.Module | None
    """Returns `mlp_out`."""


@dataclass(frozen=True)
class Layout:
    """A model's decoder layers and their sites."""

    sites: tuple[LayerSites, ...]
    hooks: tuple[Hook, ...]
    not_attention: str | None
    """The first layer that is not plain attention, in words; None when all are."""
    tuple_of: int | None = None
    """How many values a layer returns, as a tuple; None when it returns the tensor itself."""

    @property
    def layers(self) -> list[nn.Module]:
        """The decoder layers, in order."""
        return [site.layer for site in self.sites]

    @cached_property
    def layer_of(self) -> dict[int, int]:
        """Module id -> layer index, for every module inside a layer."""
        return {id(m): i for i, layer in enumerate(self.layers) for m in layer.modules()}


@dataclass
class _Call:
    module: nn.Module
    received: Tensor
    returned: Tensor


def find_layers(model: PreTrainedModel) -> nn.ModuleList:
    """The outermost list of as many modules as the configuration says there are layers."""
    depth = model.config.get_text_config().num_hidden_layers
    lists = [
        (name.count("."), name, module)
        for name, module in model.named_modules()
        if isinstance(module, nn.ModuleList) and len(module) == depth
    ]
    if not lists:
        raise EngineError(f"{type(model).__name__} has no list of {depth} decoder layers")
    return min(lists, key=lambda entry: entry[:2])[2]


def first_tensor(values: object) -> Tensor | None:
    """The tensor a module takes or gives: itself, or the first of a tuple."""
    if isinstance(values, Tensor):
        return values
    if isinstance(values, tuple | list) and values and isinstance(values[0], Tensor):
        return values[0]
    return None


def received_tensor(args: tuple[object, ...], kwargs: dict[str, Any]) -> Tensor | None:
    """The hidden states a module was called with, by position or by name."""
    found = first_tensor(args)
    return found if found is not None else first_tensor(kwargs.get("hidden_states"))


def find_layout(
    model: PreTrainedModel, probe: Sequence[int], attention_callers: set[int]
) -> Layout:
    """Run `probe` once and read the layout off what happens.

    `attention_callers` is filled by the attention function while the probe runs.
    """
    layers = find_layers(model)
    calls, edges, tuple_of = _watch(model, list(layers), probe)
    sites, found, stranger = [], set(HOOKS), None
    for index, layer in enumerate(layers):
        attention = _attention_child(layer, attention_callers)
        if attention is None and stranger is None:
            stranger = f"layer {index} ({type(layer).__name__})"
        site, hooks = _read_layer(layer, attention, calls[index], *edges[index])
        sites.append(site)
        found &= hooks
    return Layout(tuple(sites), tuple(h for h in HOOKS if h in found), stranger, tuple_of)


def _watch(
    model: PreTrainedModel, layers: list[nn.Module], probe: Sequence[int]
) -> tuple[list[list[_Call]], list[tuple[Tensor, Tensor]], int | None]:
    """Per layer: its children's calls in order, and its own input and output; `tuple_of`."""
    calls: list[list[_Call]] = [[] for _ in layers]
    edges: list[tuple[Tensor, Tensor]] = []
    sizes: set[int | None] = set()
    handles = []

    def note(into: list[_Call], module: nn.Module) -> None:
        def hook(_m: nn.Module, args: Any, kwargs: Any, output: object) -> None:
            received, returned = received_tensor(args, kwargs), first_tensor(output)
            if received is not None and returned is not None:
                into.append(_Call(module, received, returned))

        handles.append(module.register_forward_hook(hook, with_kwargs=True))

    def edge(_m: nn.Module, args: Any, kwargs: Any, output: object) -> None:
        received, returned = received_tensor(args, kwargs), first_tensor(output)
        assert received is not None
        assert returned is not None
        edges.append((received, returned))
        sizes.add(len(output) if isinstance(output, tuple | list) else None)

    for index, layer in enumerate(layers):
        for child in layer.children():
            note(calls[index], child)
        handles.append(layer.register_forward_hook(edge, with_kwargs=True))
    try:
        with torch.inference_mode():
            model(input_ids=torch.tensor([list(probe)], device=model.device), use_cache=False)
    finally:
        for handle in handles:
            handle.remove()
    if len(edges) != len(layers):
        raise EngineError(f"{len(edges)} of {len(layers)} decoder layers ran during the probe")
    if len(sizes) != 1:
        raise EngineError("its decoder layers do not all return the same number of values")
    return calls, edges, sizes.pop()


def _attention_child(layer: nn.Module, callers: set[int]) -> nn.Module | None:
    for child in layer.children():
        if any(id(module) in callers for module in child.modules()):
            return child
    return None


def _has_matrices(module: nn.Module) -> bool:
    return any(parameter.ndim >= 2 for parameter in module.parameters())


def _read_layer(
    layer: nn.Module, attention: nn.Module | None, calls: list[_Call], x: Tensor, y: Tensor
) -> tuple[LayerSites, set[Hook]]:
    """The sites of one layer and the hooks its evidence supports."""
    hooks: set[Hook] = {"pre_attn", "post_block"}
    branches = [call for call in calls if _has_matrices(call.module)]
    mlps = [call for call in branches if call.module is not attention]
    if attention is None:  # the first branch mixes positions by other means
        mlps = branches[1:]
    if len(mlps) != 1:
        return LayerSites(layer, None, None, None), hooks
    mlp = mlps[0]
    hooks.add("mlp_in")
    branch = calls[-1] if calls.index(mlp) >= _index_of(calls, attention) else mlp
    if _times_called(calls, branch) > 1 and torch.equal(branch.returned, mlp.returned):
        branch = mlp  # one dropout serves both branches, and in evaluation it does nothing
    middle = _residual_after_attention(calls, x)
    if any(_times_called(calls, call) > 1 for call in (branch, middle) if call is not None):
        return LayerSites(layer, None, mlp.module, None), hooks
    if middle is not None and torch.equal(middle.received + branch.returned, y):
        hooks |= {"post_attn", "mlp_out"}
        return LayerSites(layer, middle.module, mlp.module, branch.module), hooks
    if middle is None and _adds_up(calls, attention, branch, x, y):
        hooks.add("mlp_out")
        return LayerSites(layer, None, mlp.module, branch.module), hooks
    return LayerSites(layer, None, mlp.module, None), hooks


def _index_of(calls: list[_Call], module: nn.Module | None) -> int:
    return next((i for i, call in enumerate(calls) if call.module is module), -1)


def _times_called(calls: list[_Call], call: _Call) -> int:
    return sum(other.module is call.module for other in calls)


def _residual_after_attention(calls: list[_Call], x: Tensor) -> _Call | None:
    """The first call that receives a tensor which is neither the input nor a child's output."""
    known = {x.data_ptr()}
    for call in calls:
        if call.received.data_ptr() not in known and not torch.equal(call.received, x):
            return call
        known.add(call.returned.data_ptr())
    return None


def _adds_up(
    calls: list[_Call], attention: nn.Module | None, branch: _Call, x: Tensor, y: Tensor
) -> bool:
    """A parallel block: input plus attention branch plus MLP branch is the output."""
    index = _index_of(calls, attention)
    if index < 0:
        return False
    return torch.allclose(x + calls[index].returned + branch.returned, y, rtol=1e-3, atol=1e-4)
