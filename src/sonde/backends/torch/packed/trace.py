"""One run of one prompt, with everything a patched run may reuse.

A prompt is run by the model's own forward pass, its length rounded up to whole groups of rows:
tokens that come after the prompt cannot influence it, and whole groups give every row the bits it
will have in any packed batch. Several prompts are run side by side: a short forward pass spends
its time reading weights, and reads them once for all.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from sonde.backends import giving_up
from sonde.backends.torch.gpu.graphs import Launch, launch_now
from sonde.backends.torch.hooking import first_tensor, watch_call
from sonde.backends.torch.layout import Layout
from sonde.backends.torch.nested import mapped
from sonde.backends.torch.packed.plan import KeysValues, Queries, RowPlan, block_size, using
from sonde.backends.torch.packed.rows import RowShape, index_tensor, padded
from sonde.backends.torch.packed.segments import whole_prompts
from sonde.errors import HookNeverFired
from sonde.schema import HOOK_TABLE, INSIDE, Hook


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
    """The unpatched run of a prompt of T tokens; or of several, end to end (see `joint`)."""

    tokens: tuple[int, ...]
    residuals: Tensor
    """Entering each layer, and leaving the last: [L + 1, T, width]."""
    keys_values: list[KeysValues]
    inside: dict[Hook, Tensor]
    """Activations at the in-layer hooks that were asked for: [L, T, width], or, where there is one
    for each head, [L, T, heads, width]."""
    attention: dict[int, Tensor]
    """Attention outputs per layer, [T, heads * width], when in-layer hooks were asked for."""
    calls: list[LayerCall]
    n_rows: int
    """T rounded up to whole groups of rows: the length of what `calls` hold per position."""
    lengths: tuple[int, ...] = ()
    """Tokens of each prompt."""

    def at(self, hook: Hook) -> Tensor:
        """The activations at a hook: [L, T, width], or [L, T, heads, width]."""
        enters = HOOK_TABLE[hook].enters
        if enters is None:
            return self.inside[hook]
        return self.residuals[enters : len(self.residuals) - 1 + enters]

    def last(self) -> Tensor:
        """The last position's residual after the last layer: [width]."""
        return self.residuals[-1, len(self.tokens) - 1]

    @cached_property
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
        self, ids: Tensor, positions: Tensor, plan: RowPlan, edges: list[Tensor]
    ) -> list[LayerCall]:
        """Note what enters each layer and leaves the last."""
        rows, calls = self.calls(ids, positions)
        for index, (layer, call) in enumerate(zip(self.layers, calls, strict=True)):
            giving_up.check()
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
    blocks: list[Queries]

    def rows(self, prompts: Sequence[Sequence[int]], device: torch.device) -> "_Rows":
        """Token ids and positions [1, rows], each prompt padded to its size."""
        ids: list[int] = []
        positions: list[int] = []
        for tokens, size in zip(prompts, self.sizes, strict=True):
            # Any token would do: no position sees one after it.
            ids += [*tokens, *[tokens[-1]] * (size - len(tokens))]
            positions += [min(i, len(tokens) - 1) for i in range(size)]
        ids += [ids[-1]] * (self.n_rows - len(ids))
        positions += [0] * (self.n_rows - len(positions))
        return index_tensor(ids, device)[None], index_tensor(positions, device)[None]


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

    In-layer hooks on modules are watched in the model's own forward pass, whatever the `stepping`;
    those of heads the attention function notes.
    """
    inside = tuple(hook for hook in INSIDE if hook in set(hooks))
    watched = any(HOOK_TABLE[hook].attention is None for hook in inside)
    laid = _lay([len(tokens) for tokens in prompts], shape, model.device)
    compute = partial(_run, model, layout, laid, inside, None if watched else stepping)
    with torch.inference_mode():
        traces = launch((laid.lengths, inside), laid.rows(prompts, model.device), compute)
    return [
        replace(t, tokens=tuple(tokens), lengths=(len(tokens),))
        for t, tokens in zip(traces, prompts, strict=True)
    ]


def _lay(lengths: Sequence[int], shape: RowShape, device: torch.device) -> _Laid:
    blocks = [block_size(device, n) for n in lengths]
    # On a GPU a prompt is one block of queries, and blocks must not share rows.
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
    plan = RowPlan(layout.layer_of, laid.blocks, laid.n_rows, None, record=True, outputs=outputs)
    plan.queries = {} if "q" in inside else None
    plan.patterns = {} if "pattern" in inside else None
    edges: list[Tensor] = []
    calls: list[LayerCall] = []
    kept: dict[Hook, list[Tensor]] = {h: [] for h in inside if HOOK_TABLE[h].attention is None}
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
    kept.update(_of_heads(plan, inside, len(layout.sites)))
    starts = [sum(laid.sizes[:i]) for i in range(len(laid.sizes))]
    return [
        _cut(length, start, size, edges, calls, kept, plan)
        for length, start, size in zip(laid.lengths, starts, laid.sizes, strict=True)
    ]


def _of_heads(plan: RowPlan, inside: Sequence[Hook], n_layers: int) -> dict[Hook, list[Tensor]]:
    """What the attention function noted, per layer: [rows, heads, width]."""
    noted: dict[Hook, Callable[[int], Tensor]] = {
        "q": lambda layer: (plan.queries or {})[layer],
        "k": lambda layer: plan.recorded[layer].keys,
        "v": lambda layer: plan.recorded[layer].values,
        "z": lambda layer: _by_head((plan.outputs or {})[layer], plan.recorded[layer]),
        "pattern": lambda layer: (plan.patterns or {})[layer],
    }
    return {
        hook: [noted[hook](layer) for layer in range(n_layers)]
        for hook in inside
        if HOOK_TABLE[hook].attention is not None
    }


def _by_head(outputs: Tensor, of: KeysValues) -> Tensor:
    """[rows, heads * width] -> [rows, heads, width], as wide as a value."""
    return outputs.view(len(outputs), -1, of.values.shape[-1])


def watch(
    stack: ExitStack,
    layout: Layout,
    edges: list[Tensor],
    calls: list[LayerCall],
    kept: dict[Hook, list[Tensor]],
) -> None:
    """Until the stack closes, note every layer's input and call, and the hooks in `kept`."""
    for site in layout.sites:
        stack.callback(watch_call(site.layer, partial(_note_call, calls)).remove)
        stack.callback(site.tap("pre_attn").watch(partial(_note, edges)).remove)
        for hook, values in kept.items():
            stack.callback(site.tap(hook).watch(partial(_note, values)).remove)
    stack.callback(layout.sites[-1].tap("post_block").watch(partial(_stop, edges)).remove)


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
    plan: RowPlan,
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
        {hook: _cut_hook(hook, kept[hook], start, stop) for hook in kept},
        {layer: mine(out) for layer, out in (plan.outputs or {}).items()},
        _cut_calls(calls, lambda table: table[start : start + size], n_rows),
        size,
    )


def _cut_hook(hook: Hook, layers: list[Tensor], start: int, stop: int) -> Tensor:
    """One prompt's rows at a hook: [L, T, …]; of what has one number a token, its own tokens'."""
    rows = torch.stack([each[start:stop] for each in layers])
    return rows[..., : stop - start].clone() if HOOK_TABLE[hook].wide == "prompt" else rows


def _cut_calls(
    calls: list[LayerCall], take: Callable[[Tensor], Tensor], length: int
) -> list[LayerCall]:
    """The calls for one prompt's rows, cut once for all layers that are called with the same."""
    # Most layers are called with the same tables. `calls` keeps them alive: no two have one id.
    keys = [(*call.kwargs, *map(id, (*call.args, *call.kwargs.values()))) for call in calls]
    cut = {key: call.at(take, length) for key, call in dict(zip(keys, calls, strict=True)).items()}
    return [cut[key] for key in keys]


def _note(into: list[Tensor], value: Tensor) -> None:
    """[1, rows, width] -> [rows, width], before anything can write to it."""
    into.append(value.view(-1, value.shape[-1]).clone())


def _note_call(calls: list[LayerCall], args: Any, kwargs: Any) -> None:
    giving_up.check()
    calls.append(LayerCall(args[1:], {k: v for k, v in kwargs.items() if k != "hidden_states"}))


def _stop(edges: list[Tensor], value: Tensor) -> None:
    _note(edges, value)
    raise _Done


def is_per_position(value: Tensor, length: int) -> bool:
    """Whether there is one entry per position: [1, length, …] or [length]."""
    # By shape alone: a layer of any architecture may be called with anything, under any name.
    if value.ndim >= 2:
        return value.shape[0] == 1 and value.shape[1] == length
    return value.ndim == 1 and value.shape[0] == length


def _taken(take: Callable[[Tensor], Tensor], length: int, value: Tensor) -> Tensor:
    """`take` applied where there is one entry per position."""
    if not is_per_position(value, length):
        return value
    return take(value) if value.ndim == 1 else take(value[0]).unsqueeze(0)
