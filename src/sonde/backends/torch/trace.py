"""One run of one prompt, with everything a patched run may reuse.

The prompt is run by the model's own forward pass, its length rounded up to whole blocks: tokens that
come after the prompt cannot influence it, and whole blocks give every row the bits it will have in
any packed batch.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from sonde.backends.torch.attention import BLOCK, KeysValues, Plan, using
from sonde.backends.torch.layout import LayerSites, Layout, first_tensor, received_tensor
from sonde.backends.torch.segments import whole_prompt
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
    residuals: list[Tensor]
    """Entering each layer, and leaving the last: L + 1 of [T, width]."""
    keys_values: list[KeysValues]
    inside: dict[Hook, list[Tensor]]
    """Activations at the in-layer hooks that were asked for, per layer: [T, width]."""
    attention: dict[int, Tensor]
    """Attention outputs per layer, [T, heads * width], when in-layer hooks were asked for."""
    calls: list[LayerCall]
    n_rows: int
    """T rounded up to whole blocks: the length of what `calls` hold per position."""

    def at(self, hook: Hook, layer: int) -> Tensor:
        """The activation at a hook: [T, width]."""
        if hook == "pre_attn":
            return self.residuals[layer]
        if hook == "post_block":
            return self.residuals[layer + 1]
        return self.inside[hook][layer]

    def nbytes(self) -> int:
        """Bytes this trace holds on to."""
        tensors = [*self.residuals, *self.attention.values()]
        tensors += [t for per_layer in self.inside.values() for t in per_layer]
        tensors += [t for kv in self.keys_values for t in (kv.keys, kv.values)]
        return sum(t.numel() * t.element_size() for t in tensors)


def record(
    model: PreTrainedModel, layout: Layout, tokens: Sequence[int], hooks: Iterable[Hook] = ()
) -> Trace:
    """Run `tokens` once and keep residuals, keys, values, and the in-layer hooks asked for."""
    device, n = model.device, len(tokens)
    block = BLOCK[device.type]
    n_rows = -(-n // block) * block
    inside = [hook for hook in INSIDE if hook in set(hooks)]
    plan = Plan(
        layout.layer_of(), whole_prompt(n_rows, block=block, device=device), n_rows, None,
        record=True, outputs={} if inside else None,
    )  # fmt: skip
    edges: list[Tensor] = []
    calls: list[LayerCall] = []
    kept: dict[Hook, list[Tensor]] = {hook: [] for hook in inside}
    padded = torch.tensor([[*tokens, *[tokens[-1]] * (n_rows - n)]], device=device)
    positions = torch.arange(n_rows, device=device).clamp(max=n - 1)[None]
    with ExitStack() as stack, using(plan), torch.inference_mode():
        for site in layout.sites:
            _watch_edges(stack, site.layer, edges, calls, n)
            for hook in inside:
                _watch_inside(stack, site, hook, kept[hook], n)
        last = layout.sites[-1].layer.register_forward_hook(
            lambda _m, _a, out: edges.append(_rows(first_tensor(out), n))
        )
        stack.callback(last.remove)
        model(input_ids=padded, position_ids=positions, use_cache=False, logits_to_keep=1)
    for hook, values in kept.items():
        if len(values) != len(layout.sites):
            raise HookNeverFired(f"{hook} was reached in {len(values)} of {len(layout.sites)} layers")
    keys_values = [
        KeysValues(kv.keys[:n].contiguous(), kv.values[:n].contiguous())
        for kv in (plan.recorded[layer] for layer in range(len(layout.sites)))
    ]
    attention = {layer: out[:n] for layer, out in (plan.outputs or {}).items()}
    return Trace(tuple(tokens), edges, keys_values, kept, attention, calls, n_rows)


def _watch_edges(
    stack: ExitStack, layer: nn.Module, edges: list[Tensor], calls: list[LayerCall], n: int
) -> None:
    def before(_module: nn.Module, args: Any, kwargs: Any) -> None:
        edges.append(_rows(received_tensor(args, kwargs), n))
        calls.append(LayerCall(args[1:], {k: v for k, v in kwargs.items() if k != "hidden_states"}))

    stack.callback(layer.register_forward_pre_hook(before, with_kwargs=True).remove)


def _watch_inside(
    stack: ExitStack, site: LayerSites, hook: Hook, kept: list[Tensor], n: int
) -> None:
    def before(_module: nn.Module, args: Any, kwargs: Any) -> None:
        kept.append(_rows(received_tensor(args, kwargs), n))

    def after(_module: nn.Module, _args: Any, output: object) -> None:
        kept.append(_rows(first_tensor(output), n))

    module = {"post_attn": site.post_attn, "mlp_in": site.mlp, "mlp_out": site.mlp_out}[hook]
    if module is None:
        raise HookNeverFired(f"this model has no {hook}")
    if hook == "mlp_out":
        stack.callback(module.register_forward_hook(after).remove)
    else:
        stack.callback(module.register_forward_pre_hook(before, with_kwargs=True).remove)


def _rows(tensor: Tensor | None, n: int) -> Tensor:
    """[1, rows, width] -> the first n rows, in memory of their own."""
    assert tensor is not None
    return tensor.view(-1, tensor.shape[-1])[:n].clone()


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
