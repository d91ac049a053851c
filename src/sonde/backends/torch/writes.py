"""Patches as rows to overwrite: `out = (1 - w)·h + w·source`, with w = alpha · mask.

Every write counts what it wrote. A patch whose rows were not written is an error, never a number.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from sonde.backends.torch.layout import LayerSites, first_tensor, received_tensor
from sonde.errors import HookNeverFired
from sonde.schema import Hook


@dataclass
class Writes:
    """Rows of one tensor, and what to write there."""

    rows: Tensor
    values: Tensor
    weight: Tensor | None
    """[n, 1] or [n, width], float32; None replaces outright."""

    def apply(self, target: Tensor) -> int:
        """Overwrite rows of `target` [rows, width] in place; how many were written."""
        if self.weight is None:
            target.index_copy_(0, self.rows, self.values.to(target.dtype))
        else:
            blended = blend(target.index_select(0, self.rows), self.values, self.weight)
            target.index_copy_(0, self.rows, blended)
        return len(self.rows)


def blend(current: Tensor, source: Tensor, weight: Tensor) -> Tensor:
    """(1 − w)·current + w·source in float32; exactly `current` at 0 and `source` at 1."""
    mixed = (1 - weight) * current.float() + weight * source.float()
    exact = torch.where(weight == 0, current.float(), mixed)
    return torch.where(weight == 1, source.float(), exact).to(current.dtype)


@contextmanager
def applied(sites: LayerSites, writes: dict[Hook, Writes]) -> Iterator[None]:
    """Inside the block, a call of the layer makes these writes: all of them, or it raises."""
    written: dict[Hook, int] = {}
    with ExitStack() as stack:
        for hook in ("post_attn", "mlp_in", "mlp_out"):  # the order in which a layer reaches them
            if hook in writes:
                handle = _register(sites, hook, writes[hook], written)
                stack.callback(handle.remove)
        yield
    for hook, wanted in writes.items():
        if written.get(hook, 0) != len(wanted.rows):
            raise HookNeverFired(
                f"{written.get(hook, 0)} of {len(wanted.rows)} patches at {hook} were applied; "
                "the layer did not run the module this hook acts on"
            )


@contextmanager
def write_entering(layer: nn.Module, writes: Writes) -> Iterator[None]:
    """Inside the block, a call of the layer starts by writing to what enters it."""
    written = 0

    def before(_module: nn.Module, args: Any, kwargs: Any) -> None:
        nonlocal written
        given = received_tensor(args, kwargs)
        assert given is not None
        written += writes.apply(given.view(-1, given.shape[-1]))

    handle = layer.register_forward_pre_hook(before, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()
    if written != len(writes.rows):
        raise HookNeverFired(f"{written} of {len(writes.rows)} patches entering a layer were made")


def _register(sites: LayerSites, hook: Hook, writes: Writes, written: dict[Hook, int]) -> Any:
    def before(_module: nn.Module, args: Any, kwargs: Any) -> Any:
        given = received_tensor(args, kwargs)
        assert given is not None
        if hook == "mlp_in":  # the residual may be this very tensor: write to a copy
            given = given.clone()
        written[hook] = written.get(hook, 0) + writes.apply(given.view(-1, given.shape[-1]))
        return _with_tensor(args, kwargs, given)

    def after(_module: nn.Module, _args: Any, output: object) -> None:
        given = first_tensor(output)
        assert given is not None
        written[hook] = written.get(hook, 0) + writes.apply(given.view(-1, given.shape[-1]))

    if hook == "mlp_out":
        return _module(sites.mlp_out, hook).register_forward_hook(after)
    module = sites.post_attn if hook == "post_attn" else sites.mlp
    return _module(module, hook).register_forward_pre_hook(before, with_kwargs=True)


def _module(module: nn.Module | None, hook: Hook) -> nn.Module:
    if module is None:
        raise HookNeverFired(f"this model has no {hook}")
    return module


def _with_tensor(args: Any, kwargs: Any, given: Tensor) -> Any:
    if args and isinstance(args[0], Tensor):
        return (given, *args[1:]), kwargs
    return args, {**kwargs, "hidden_states": given}
