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

from torch import Tensor

from sonde.backends.blending import written
from sonde.backends.torch.layout import LayerSites
from sonde.errors import HookNeverFired
from sonde.schema import HOOK_TABLE, INSIDE, Hook


@dataclass
class Writes:
    """Rows of one tensor, and what to write there."""

    rows: Tensor
    values: Tensor
    weight: Tensor | None
    """[n, 1] or [n, width], float32; None replaces outright."""
    adds: Tensor | None = None
    """[n, 1], true where values are added; None when they never are."""

    def apply(self, target: Tensor) -> int:
        """Overwrite rows of `target` [rows, width] in place; how many were written."""
        values = self._cut(self.values, target)
        if self.weight is None and self.adds is None:
            target.index_copy_(0, self.rows, values.to(target.dtype))
        else:
            current = target.index_select(0, self.rows)
            weight = None if self.weight is None else self._cut(self.weight, target)
            target.index_copy_(0, self.rows, written(current, values, weight, self.adds))
        return len(self.rows)

    @staticmethod
    def _cut(values: Tensor, target: Tensor) -> Tensor:
        """Without what narrower values were padded with, beside wider ones of other hooks."""
        return values[:, : target.shape[-1]]

    def of(self, chosen: Tensor, rows: Tensor) -> "Writes":
        """Some of them, to other rows."""
        weight = None if self.weight is None else self.weight[chosen]
        adds = None if self.adds is None else self.adds[chosen]
        return Writes(rows, self.values[chosen], weight, adds)


@dataclass
class Due:
    """What one call of a layer is to write, and how many rows it has written."""

    writes: dict[Hook, Writes]
    written: dict[Hook, int] = field(default_factory=dict)

    def make(self, hook: Hook, target: Tensor) -> None:
        """Write to `target` [rows, width]."""
        self.count(hook, self.writes[hook].apply(target))

    def count(self, hook: Hook, made: int) -> None:
        """So many rows were written."""
        self.written[hook] = self.written.get(hook, 0) + made

    @property
    def missing(self) -> list[Hook]:
        """Hooks at which not everything was written, once."""
        return [h for h, wanted in self.writes.items() if self.written.get(h) != len(wanted.rows)]

    def check(self) -> None:
        """Everything was written, once."""
        for hook in self.missing:
            raise HookNeverFired(
                f"{self.written.get(hook, 0)} of {len(self.writes[hook].rows)} patches at {hook} "
                "were applied; the layer did not run what this hook acts on"
            )


_due: ContextVar[Mapping[int, Due]] = ContextVar("sonde_due", default=MappingProxyType({}))
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
                if hook in hooks and HOOK_TABLE[hook].attention is None:
                    stack.callback(_register(sites, hook).remove)
        yield


@contextmanager
def due(sites: LayerSites, writes: dict[Hook, Writes]) -> Iterator[None]:
    """Inside the block, this thread's call of a layer with ports makes these writes, or raises."""
    if not writes:
        yield
        return
    call = Due(writes)
    token = _due.set({**_due.get(), id(sites.layer): call})
    try:
        yield
    finally:
        _due.reset(token)
    call.check()


@contextmanager
def write_entering(sites: LayerSites, writes: Writes) -> Iterator[None]:
    """Inside the block, a call of the layer starts by writing to what enters it."""
    written = 0

    def change(given: Tensor) -> None:
        nonlocal written
        written += writes.apply(given.view(-1, given.shape[-1]))

    handle = sites.tap("pre_attn").rewrite(change)
    try:
        yield
    finally:
        handle.remove()
    if written != len(writes.rows):
        raise HookNeverFired(f"{written} of {len(writes.rows)} patches entering a layer were made")


def _register(sites: LayerSites, hook: Hook) -> Any:
    tap = sites.tap(hook)

    def change(given: Tensor) -> Tensor | None:
        call = _due.get().get(id(sites.layer))
        if call is None or hook not in call.writes:
            return None
        # An input that is not the stream may be the very tensor that the stream goes on with.
        target = given if tap.may_write else given.clone()
        call.make(hook, target.view(-1, target.shape[-1]))
        return target

    return tap.rewrite(change)
