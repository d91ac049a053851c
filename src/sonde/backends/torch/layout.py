"""Which module is which hook, found by watching a model run, never by its name.

One short forward pass is recorded. Inside each decoder layer the order of calls and the identity of
tensors tell the parts apart:

- the *attention* child is the one inside which the attention function was called;
- the *MLP* is the one other child with matrices;
- the residual *after attention* is a tensor that some later child receives and no child returned;
- the *attention branch* is what a child from the attention on returned, if adding it to the layer's
  input gives that residual, bit for bit;
- the *MLP branch* is the last child's output, and it is taken only if adding it to that residual
  gives the layer's output, bit for bit.

A hook is offered only where this evidence holds in every layer. What fails it (parallel blocks have
no residual between attention and MLP, scaled branches are not a module's output) is simply not a
hook of that model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from sonde.backends.torch.hooking import (
    Tap,
    edge_tap,
    first_tensor,
    received_tensor,
    watch_both,
)
from sonde.errors import EngineError, HookNeverFired
from sonde.schema import HEAD_HOOKS, HOOK_TABLE, LAYER_HOOKS, HeadShape, Hook


@dataclass(frozen=True)
class LayerSites:
    """One layer, and where the values of its hooks pass by."""

    layer: nn.Module
    taps: Mapping[Hook, Tap]

    def tap(self, hook: Hook) -> Tap:
        """Where a hook's value passes by; `HookNeverFired` when this model has no such hook."""
        if hook not in self.taps:
            raise HookNeverFired(f"this model has no {hook}")
        return self.taps[hook]


def bare_layer(layer: nn.Module) -> LayerSites:
    """A layer of which only the edges are known."""
    return LayerSites(
        layer, {h: edge_tap(layer, h) for h in LAYER_HOOKS if HOOK_TABLE[h].enters is not None}
    )


@dataclass(frozen=True)
class Layout:
    """A model's decoder layers and their sites."""

    sites: tuple[LayerSites, ...]
    hooks: tuple[Hook, ...]
    not_attention: str | None
    """The first layer that is not plain attention, in words; None when all are."""
    tuple_of: int | None = None
    """How many values a layer returns, as a tuple; None when it returns the tensor itself."""
    heads: HeadShape | None = None
    """What heads every layer's attention has; None where layers differ, or it is not Sonde's."""

    def with_heads(self, calls: Sequence[tuple[int, HeadShape]]) -> "Layout":
        """With the hooks of heads, where each layer attends once and all with the same heads."""
        shapes = {shape.model_dump_json() for _, shape in calls}
        if [layer for layer, _ in calls] != list(range(len(self.sites))) or len(shapes) != 1:
            return self
        return replace(self, hooks=(*self.hooks, *HEAD_HOOKS), heads=calls[0][1])

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


def find_layout(
    model: PreTrainedModel, probe: Sequence[int], attention_callers: set[int]
) -> Layout:
    """Run `probe` once and read the layout off what happens.

    `attention_callers` is filled by the attention function while the probe runs.
    """
    layers = find_layers(model)
    calls, edges, tuple_of = _watch(model, list(layers), probe)
    sites, found, stranger = [], set(LAYER_HOOKS), None
    for index, layer in enumerate(layers):
        attention = _attention_child(layer, attention_callers)
        if attention is None and stranger is None:
            stranger = f"layer {index} ({type(layer).__name__})"
        site = _read_layer(layer, attention, calls[index], *edges[index])
        sites.append(site)
        found &= set(site.taps)
    return Layout(tuple(sites), tuple(h for h in LAYER_HOOKS if h in found), stranger, tuple_of)


def _watch(
    model: PreTrainedModel, layers: list[nn.Module], probe: Sequence[int]
) -> tuple[list[list[_Call]], list[tuple[Tensor, Tensor]], int | None]:
    """Per layer: its children's calls in order, and its own input and output; `tuple_of`."""
    calls: list[list[_Call]] = [[] for _ in layers]
    edges: list[tuple[Tensor, Tensor]] = []
    sizes: set[int | None] = set()
    handles = []

    def note(into: list[_Call], module: nn.Module) -> None:
        def called(args: Any, kwargs: Any, output: object) -> None:
            received, returned = received_tensor(args, kwargs), first_tensor(output)
            if received is not None and returned is not None:
                into.append(_Call(module, received, returned))

        handles.append(watch_both(module, called))

    def edge(args: Any, kwargs: Any, output: object) -> None:
        received, returned = received_tensor(args, kwargs), first_tensor(output)
        assert received is not None
        assert returned is not None
        edges.append((received, returned))
        sizes.add(len(output) if isinstance(output, tuple | list) else None)

    for index, layer in enumerate(layers):
        for child in layer.children():
            note(calls[index], child)
        handles.append(watch_both(layer, edge))
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
) -> LayerSites:
    """One layer, with the taps that its evidence supports."""
    bare = bare_layer(layer)
    branches = [call for call in calls if _has_matrices(call.module)]
    mlps = [call for call in branches if call.module is not attention]
    if attention is None:  # the first branch mixes positions by other means
        mlps = branches[1:]
    if len(mlps) != 1:
        return bare
    mlp = mlps[0]
    taps: dict[Hook, Tap] = {**bare.taps, "mlp_in": Tap(mlp.module, "receives")}
    if (added := _attention_branch(calls, attention, x)) is not None:
        taps["attn_out"] = Tap(added.module, "returns")
    branch = calls[-1] if calls.index(mlp) >= _index_of(calls, attention) else mlp
    if _times_called(calls, branch) > 1 and torch.equal(branch.returned, mlp.returned):
        branch = mlp  # one dropout serves both branches, and in evaluation it does nothing
    middle = _residual_after_attention(calls, x)
    if any(_times_called(calls, call) > 1 for call in (branch, middle) if call is not None):
        return LayerSites(layer, taps)
    if middle is not None and torch.equal(middle.received + branch.returned, y):
        taps["post_attn"] = Tap(middle.module, "receives", is_stream=True)
        taps["mlp_out"] = Tap(branch.module, "returns")
    elif middle is None and _adds_up(calls, attention, branch, x, y):
        taps["mlp_out"] = Tap(branch.module, "returns")
    return LayerSites(layer, taps)


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


def _attention_branch(calls: list[_Call], attention: nn.Module | None, x: Tensor) -> _Call | None:
    """What is added to the residual before the MLP: found where adding it gives what comes next."""
    middle = _residual_after_attention(calls, x)
    if middle is None or attention is None:
        return None
    before = calls[_index_of(calls, attention) : calls.index(middle)]
    found = [call for call in before if torch.equal(x + call.returned, middle.received)]
    # Of a chain that hands the tensor on (a dropout, say), the first returns it.
    return found[0] if found and _times_called(calls, found[0]) == 1 else None


def _adds_up(
    calls: list[_Call], attention: nn.Module | None, branch: _Call, x: Tensor, y: Tensor
) -> bool:
    """A parallel block: input plus attention branch plus MLP branch is the output."""
    index = _index_of(calls, attention)
    if index < 0:
        return False
    return torch.allclose(x + calls[index].returned + branch.returned, y, rtol=1e-3, atol=1e-4)
