"""One run of one prompt, with everything a patched run may reuse.

A prompt is run by the model's own forward pass, its length rounded up to whole groups of rows:
tokens that come after the prompt cannot influence it, and whole groups give every row the bits it
will have in any packed batch. Several prompts are run side by side: a short forward pass spends
its time reading weights, and reads them once for all.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from sonde.backends.torch.attention import KeysValues, Plan, block_size, using
from sonde.backends.torch.layout import LayerSites, Layout, first_tensor, received_tensor
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
        return LayerCall(
            tuple(_map(value, take, length) for value in self.args),
            {name: _map(value, take, length) for name, value in self.kwargs.items()},
        )


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


def record(
    model: PreTrainedModel,
    layout: Layout,
    prompts: Sequence[Sequence[int]],
    hooks: Iterable[Hook],
    shape: RowShape,
    stepping: Stepping | None = None,
) -> list[Trace]:
    """Run prompts once, side by side, and keep what later runs may reuse of each.

    In-layer hooks are watched in the model's own forward pass, whatever the `stepping`.
    """
    device = model.device
    inside = [hook for hook in INSIDE if hook in set(hooks)]
    blocks = [block_size(device, len(tokens)) for tokens in prompts]
    on_cpu = device.type == "cpu"
    groups = [min(block, shape.multiple) if on_cpu else block for block in blocks]
    sizes = [padded(len(t), group) for t, group in zip(prompts, groups, strict=True)]
    n_rows = shape.padded(sum(sizes))
    plan = Plan(
        layout.layer_of(), whole_prompts(sizes, blocks, device), n_rows, None,
        record=True, outputs={} if inside else None,
    )  # fmt: skip
    edges: list[Tensor] = []
    calls: list[LayerCall] = []
    kept: dict[Hook, list[Tensor]] = {hook: [] for hook in inside}
    ids, positions = _laid_out(prompts, sizes, n_rows, device)
    with ExitStack() as stack, using(plan), torch.inference_mode():
        if stepping is not None and not inside:
            calls = stepping.run(ids, positions, plan, edges)
        else:
            watch(stack, layout, edges, calls, kept)
            finish(
                lambda: model(input_ids=ids, position_ids=positions, use_cache=False),
                kept,
                len(layout.sites),
            )
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        return [
            _cut(tokens, start, size, edges, calls, kept, plan)
            for tokens, start, size in zip(prompts, starts, sizes, strict=True)
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


def _laid_out(
    prompts: Sequence[Sequence[int]], sizes: Sequence[int], n_rows: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Token ids and positions of prompts laid end to end, each padded to its size."""
    ids: list[int] = []
    positions: list[int] = []
    for tokens, size in zip(prompts, sizes, strict=True):
        ids += [*tokens, *[tokens[-1]] * (size - len(tokens))]
        positions += [min(i, len(tokens) - 1) for i in range(size)]
    ids += [ids[-1]] * (n_rows - len(ids))
    positions += [0] * (n_rows - len(positions))
    return torch.tensor([ids], device=device), torch.tensor([positions], device=device)


def _cut(
    tokens: Sequence[int],
    start: int,
    size: int,
    edges: list[Tensor],
    calls: list[LayerCall],
    kept: dict[Hook, list[Tensor]],
    plan: Plan,
) -> Trace:
    """One prompt's part of a joint run, in memory of its own."""
    stop, n_rows = start + len(tokens), plan.n_rows

    def mine(rows: Tensor) -> Tensor:
        return rows[start:stop].clone()

    return Trace(
        tuple(tokens),
        torch.stack([edge[start:stop] for edge in edges]),
        [
            KeysValues(mine(plan.recorded[i].keys), mine(plan.recorded[i].values))
            for i in range(len(calls))
        ],
        {hook: torch.stack([rows[start:stop] for rows in kept[hook]]) for hook in kept},
        {layer: mine(out) for layer, out in (plan.outputs or {}).items()},
        [call.at(lambda table: table[start : start + size], n_rows) for call in calls],
        size,
    )


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


def _map(value: Any, take: Callable[[Tensor], Tensor], length: int) -> Any:
    """Apply `take` to tensors with one entry per position: [1, length, …] or [length]."""
    if isinstance(value, Tensor):
        if value.ndim >= 2 and value.shape[0] == 1 and value.shape[1] == length:
            return take(value[0]).unsqueeze(0)
        return take(value) if value.ndim == 1 and value.shape[0] == length else value
    if isinstance(value, tuple):
        return tuple(_map(part, take, length) for part in value)
    if isinstance(value, dict):
        return {name: _map(part, take, length) for name, part in value.items()}
    return value
