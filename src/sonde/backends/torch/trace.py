"""One run of one prompt, with everything a patched run may reuse.

A prompt is run by the model's own forward pass, its length rounded up to whole groups of rows:
tokens that come after the prompt cannot influence it, and whole groups give every row the bits it
will have in any packed batch. Several prompts are run side by side: a short forward pass spends
its time reading weights, and reads them once for all.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from sonde.backends.torch.graphs import Launch, launch_now
from sonde.backends.torch.layout import LayerSites, Layout, first_tensor, received_tensor
from sonde.backends.torch.nested import mapped
from sonde.backends.torch.plan import KeysValues, Plan, QueryBlock, block_size, using
from sonde.backends.torch.rows import RowShape, padded
from sonde.backends.torch.segments import whole_prompts
from sonde.errors import HookNeverFired
from sonde.schema import Hook

INSIDE: Final[tuple[Hook, ...]] = ("post_attn", "mlp_in", "mlp_out")
"""Hooks that act inside a layer; the other two are its edges."""


@dataclass(frozen=True)
class LayerCall:
    """What a layer was called with, besides the hidden states."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def at(self, take: Callable[[Tensor], Tensor], length: int) -> "LayerCall":
        """The same call for other rows: `take` picks them from what has one entry per position."""
        return mapped(self, partial(_taken, take, length))


@dataclass(frozen=True)
class Trace:
    """The unpatched run of a prompt of T tokens."""

    tokens: tuple[int, ...]
    residuals: Tensor
    """Entering each layer, and leaving the last: [L + 1, T, width]."""
    keys_values: list[KeysValues]
    inside: dict[Hook, Tensor]
    """Activations at the in-layer hooks that were asked for: [L, T, width]."""
    attention: dict[int, Tensor]
    """Attention outputs per layer, [T, heads * width], when in-layer hooks were asked for."""
    calls: list[LayerCall]
    n_rows: int
    """T rounded up to whole groups of rows: the length of what `calls` hold per position."""

    def at(self, hook: Hook) -> Tensor:
        """The activations at a hook: [L, T, width]."""
        if hook == "pre_attn":
            return self.residuals[:-1]
        return self.residuals[1:] if hook == "post_block" else self.inside[hook]

    def last(self) -> Tensor:
        """The last position's residual after the last layer: [width]."""
        return self.residuals[-1, len(self.tokens) - 1]

    def nbytes(self) -> int:
        """Bytes this trace holds on to."""
        tensors = [self.residuals, *self.inside.values(), *self.attention.values()]
        tensors += [t for kv in self.keys_values for t in (kv.keys, kv.values)]
        return sum(t.numel() * t.element_size() for t in tensors)


@dataclass(frozen=True)
class Stepping:
    """Compiled layers, which are called one by one: they cannot be watched from outside."""

    calls: Callable[[Tensor, Tensor], tuple[Tensor, list[LayerCall]]]
    """Token ids and positions -> what enters the first layer, and what each is called with."""
    layers: Sequence[Callable[..., object]]

    def run(
        self, ids: Tensor, positions: Tensor, plan: Plan, edges: list[Tensor]
    ) -> list[LayerCall]:
        """Note what enters each layer and leaves the last."""
        rows, calls = self.calls(ids, positions)
        for index, (layer, call) in enumerate(zip(self.layers, calls, strict=True)):
            edges.append(rows.view(-1, rows.shape[-1]))
            plan.layer = index
            out = first_tensor(layer(rows, *call.args, **call.kwargs))
            assert out is not None
            rows = out
        edges.append(rows.view(-1, rows.shape[-1]))
        return calls


class _Done(Exception):
    """Raised after the last layer: what follows it is not wanted here."""


@dataclass(frozen=True)
class _Laid:
    """Prompts of some lengths laid end to end."""

    lengths: tuple[int, ...]
    sizes: tuple[int, ...]
    """The lengths; on a GPU in whole blocks."""
    n_rows: int
    blocks: list[QueryBlock]

    def rows(self, prompts: Sequence[Sequence[int]], device: torch.device) -> "_Rows":
        """Token ids and positions [1, rows], each prompt padded to its size."""
        ids: list[int] = []
        positions: list[int] = []
        for tokens, size in zip(prompts, self.sizes, strict=True):
            ids += [*tokens, *[tokens[-1]] * (size - len(tokens))]
            positions += [min(i, len(tokens) - 1) for i in range(size)]
        ids += [ids[-1]] * (self.n_rows - len(ids))
        positions += [0] * (self.n_rows - len(positions))
        return torch.tensor([ids], device=device), torch.tensor([positions], device=device)


_Rows = tuple[Tensor, Tensor]


def record(
    model: PreTrainedModel,
    layout: Layout,
    prompts: Sequence[Sequence[int]],
    hooks: Iterable[Hook],
    shape: RowShape,
    stepping: Stepping | None = None,
    launch: Launch = launch_now,
) -> list[Trace]:
    """Run prompts once, side by side, and keep what later runs may reuse of each.

    In-layer hooks are watched in the model's own forward pass, whatever the `stepping`.
    """
    inside = tuple(hook for hook in INSIDE if hook in set(hooks))
    laid = _lay([len(tokens) for tokens in prompts], shape, model.device)
    compute = partial(_run, model, layout, laid, inside, None if inside else stepping)
    with torch.inference_mode():
        traces = launch((laid.lengths, inside), laid.rows(prompts, model.device), compute)
    return [replace(t, tokens=tuple(tokens)) for t, tokens in zip(traces, prompts, strict=True)]


def _lay(lengths: Sequence[int], shape: RowShape, device: torch.device) -> _Laid:
    blocks = [block_size(device, n) for n in lengths]
    groups = [1 if device.type == "cpu" else block for block in blocks]
    sizes = tuple(padded(n, group) for n, group in zip(lengths, groups, strict=True))
    n_rows = shape.padded(sum(sizes))
    return _Laid(tuple(lengths), sizes, n_rows, whole_prompts(sizes, blocks, device))


def _run(
    model: PreTrainedModel,
    layout: Layout,
    laid: _Laid,
    inside: Sequence[Hook],
    stepping: Stepping | None,
    rows: _Rows,
) -> list[Trace]:
    """The runs, without their tokens."""
    outputs: dict[int, Tensor] | None = {} if inside else None
    plan = Plan(layout.layer_of, laid.blocks, laid.n_rows, None, record=True, outputs=outputs)
    edges: list[Tensor] = []
    calls: list[LayerCall] = []
    kept: dict[Hook, list[Tensor]] = {hook: [] for hook in inside}
    ids, positions = rows
    with ExitStack() as stack, using(plan):
        if stepping is not None:
            calls = stepping.run(ids, positions, plan, edges)
        else:
            watch(stack, layout, edges, calls, kept)
            finish(
                lambda: model(input_ids=ids, position_ids=positions, use_cache=False),
                kept,
                len(layout.sites),
            )
    starts = [sum(laid.sizes[:i]) for i in range(len(laid.sizes))]
    return [
        _cut(length, start, size, edges, calls, kept, plan)
        for length, start, size in zip(laid.lengths, starts, laid.sizes, strict=True)
    ]


def watch(
    stack: ExitStack,
    layout: Layout,
    edges: list[Tensor],
    calls: list[LayerCall],
    kept: dict[Hook, list[Tensor]],
) -> None:
    """Until the stack closes, note every layer's input and call, and the hooks in `kept`."""
    for site in layout.sites:
        _watch_edges(stack, site.layer, edges, calls)
        for hook, values in kept.items():
            _watch_inside(stack, site, hook, values)
    _stop_after(stack, layout.sites[-1].layer, edges)


def finish(run: Callable[[], object], kept: dict[Hook, list[Tensor]], n_layers: int) -> None:
    """Run the watched model to the end of its last layer; every hook must have been reached."""
    try:
        run()
    except _Done:
        for hook, values in kept.items():
            if len(values) != n_layers:
                raise HookNeverFired(
                    f"{hook} was reached in {len(values)} of {n_layers} layers"
                ) from None
        return
    raise HookNeverFired("the last layer was not reached")


def _cut(
    length: int,
    start: int,
    size: int,
    edges: list[Tensor],
    calls: list[LayerCall],
    kept: dict[Hook, list[Tensor]],
    plan: Plan,
) -> Trace:
    """One prompt's part of a joint run, in memory of its own."""
    stop, n_rows = start + length, plan.n_rows

    def mine(rows: Tensor) -> Tensor:
        return rows[start:stop].clone()

    return Trace(
        (),
        torch.stack([edge[start:stop] for edge in edges]),
        [
            KeysValues(mine(plan.recorded[i].keys), mine(plan.recorded[i].values))
            for i in range(len(calls))
        ],
        {hook: torch.stack([rows[start:stop] for rows in kept[hook]]) for hook in kept},
        {layer: mine(out) for layer, out in (plan.outputs or {}).items()},
        _cut_calls(calls, lambda table: table[start : start + size], n_rows),
        size,
    )


def _cut_calls(
    calls: list[LayerCall], take: Callable[[Tensor], Tensor], length: int
) -> list[LayerCall]:
    """The calls for one prompt's rows, cut once for all layers that are called with the same."""
    keys = [(*call.kwargs, *map(id, (*call.args, *call.kwargs.values()))) for call in calls]
    cut = {key: call.at(take, length) for key, call in dict(zip(keys, calls, strict=True)).items()}
    return [cut[key] for key in keys]


def _stop_after(stack: ExitStack, layer: nn.Module, edges: list[Tensor]) -> None:
    def after(_module: nn.Module, _args: Any, output: object) -> None:
        edges.append(_rows(first_tensor(output)))
        raise _Done

    stack.callback(layer.register_forward_hook(after).remove)


def _watch_edges(
    stack: ExitStack, layer: nn.Module, edges: list[Tensor], calls: list[LayerCall]
) -> None:
    def before(_module: nn.Module, args: Any, kwargs: Any) -> None:
        edges.append(_rows(received_tensor(args, kwargs)))
        calls.append(LayerCall(args[1:], {k: v for k, v in kwargs.items() if k != "hidden_states"}))

    stack.callback(layer.register_forward_pre_hook(before, with_kwargs=True).remove)


def _watch_inside(stack: ExitStack, site: LayerSites, hook: Hook, kept: list[Tensor]) -> None:
    def before(_module: nn.Module, args: Any, kwargs: Any) -> None:
        kept.append(_rows(received_tensor(args, kwargs)))

    def after(_module: nn.Module, _args: Any, output: object) -> None:
        kept.append(_rows(first_tensor(output)))

    module = {"post_attn": site.post_attn, "mlp_in": site.mlp, "mlp_out": site.mlp_out}[hook]
    if module is None:
        raise HookNeverFired(f"this model has no {hook}")
    if hook == "mlp_out":
        stack.callback(module.register_forward_hook(after).remove)
    else:
        stack.callback(module.register_forward_pre_hook(before, with_kwargs=True).remove)


def _rows(tensor: Tensor | None) -> Tensor:
    """[1, rows, width] -> [rows, width], before anything can write to it."""
    assert tensor is not None
    return tensor.view(-1, tensor.shape[-1]).clone()


def _taken(take: Callable[[Tensor], Tensor], length: int, value: Tensor) -> Tensor:
    """`take` applied where there is one entry per position: [1, length, …] or [length]."""
    if value.ndim >= 2 and value.shape[0] == 1 and value.shape[1] == length:
        return take(value[0]).unsqueeze(0)
    return take(value) if value.ndim == 1 and value.shape[0] == length else value
