"""Patches as rows to overwrite: `out = (1 - w)·h + w·source`, with w = alpha · mask.

Every write counts what it wrote. A patch whose rows were not written is an error, never a number.

Writes inside a layer are made by hooks on its modules. Threads that share a model share its modules
too, and must not add and remove hooks beside one another: `ports` puts them there for all threads
beforehand, and each thread says by `due` what they are to write in its own next call.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn

from sonde.backends.torch.layout import LayerSites, first_tensor, received_tensor
from sonde.backends.torch.trace import INSIDE
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


@dataclass
class _Due:
    """What one call of a layer is to write, and how many rows it has written."""

    writes: dict[Hook, Writes]
    written: dict[Hook, int] = field(default_factory=dict)

    def make(self, hook: Hook, target: Tensor) -> None:
        """Write to `target` [rows, width]."""
        made = self.writes[hook].apply(target)
        self.written[hook] = self.written.get(hook, 0) + made

    def check(self) -> None:
        """Everything was written, once."""
        for hook, wanted in self.writes.items():
            if self.written.get(hook, 0) != len(wanted.rows):
                raise HookNeverFired(
                    f"{self.written.get(hook, 0)} of {len(wanted.rows)} patches at {hook} were "
                    "applied; the layer did not run the module this hook acts on"
                )


_due: ContextVar[Mapping[int, _Due]] = ContextVar("sonde_due", default=MappingProxyType({}))
"""By the layer's id."""


@contextmanager
def applied(sites: LayerSites, writes: dict[Hook, Writes]) -> Iterator[None]:
    """Inside the block, a call of the layer makes these writes: all of them, or it raises."""
    with ports([sites], writes), due(sites, writes):
        yield


@contextmanager
def ports(layers: Sequence[LayerSites], hooks: Collection[Hook]) -> Iterator[None]:
    """Inside the block, calls of these layers make the writes at `hooks` that are due."""
    with ExitStack() as stack:
        for sites in layers:
            for hook in INSIDE:  # in the order in which a layer reaches them
                if hook in hooks:
                    stack.callback(_register(sites, hook).remove)
        yield


@contextmanager
def due(sites: LayerSites, writes: dict[Hook, Writes]) -> Iterator[None]:
    """Inside the block, this thread's call of a layer with ports makes these writes, or raises."""
    if not writes:
        yield
        return
    call = _Due(writes)
    token = _due.set({**_due.get(), id(sites.layer): call})
    try:
        yield
    finally:
        _due.reset(token)
    call.check()


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


def _register(sites: LayerSites, hook: Hook) -> Any:
    def before(_module: nn.Module, args: Any, kwargs: Any) -> Any:
        call = _due.get().get(id(sites.layer))
        if call is None or hook not in call.writes:
            return None
        given = received_tensor(args, kwargs)
        assert given is not None
        if hook == "mlp_in":  # the residual may be this very tensor: write to a copy
            given = given.clone()
        call.make(hook, given.view(-1, given.shape[-1]))
        return _with_tensor(args, kwargs, given)

    def after(_module: nn.Module, _args: Any, output: object) -> None:
        call = _due.get().get(id(sites.layer))
        if call is None or hook not in call.writes:
            return
        given = first_tensor(output)
        assert given is not None
        call.make(hook, given.view(-1, given.shape[-1]))

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
