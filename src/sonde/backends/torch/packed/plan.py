"""What the packed rows of one layer call are: what `attention` is told, and by whom.

A layer calls its attention function with rows and nothing else, so what they are is said around
the call (`using`). Plans hold indices; they compute nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Final

import torch
from torch import Tensor

from sonde.backends.torch.packed.rows import padded
from sonde.backends.torch.packed.writes import Due
from sonde.errors import EngineError
from sonde.schema import HeadShape, Hook

CPU_BLOCK: Final = 16
CUDA_BLOCK: Final = 64
FAR: Final = 256
"""Positions from which on queries are far on a CPU (see `far`). Below, bits are what they were."""
FAR_BLOCK: Final = 64
"""Positions that get the same keys there."""


def block_size(device: torch.device, n_tokens: int) -> int:
    """Positions per block. On CUDA one block holds the whole prompt: few launches, flash attention.

    That leaves bits equal within a prompt length, which is all a sweep compares.
    """
    if device.type == "cpu":
        return CPU_BLOCK
    return padded(n_tokens, CPU_BLOCK if n_tokens < CUDA_BLOCK else CUDA_BLOCK)


class UnsupportedAttention(EngineError):
    """The model asks its attention function for something Sonde's does not do."""


@dataclass
class KeysValues:
    """One layer's keys and values of a run, by absolute position: [positions, kv_heads, width]."""

    keys: Tensor
    values: Tensor

    def followed_by(self, more: "KeysValues") -> "KeysValues":
        """These positions, then those."""
        return KeysValues(torch.cat([self.keys, more.keys]), torch.cat([self.values, more.values]))


@dataclass(frozen=True)
class Ragged:
    """Suffixes of different lengths as fused attention takes them: packed queries, whole keys."""

    key_rows: Tensor
    """Rows of [prefix positions ‖ packed rows], cell by cell."""
    query_ends: Tensor
    key_ends: Tensor
    first_row: int
    n_queries: int
    n_keys: int


Masks = dict[tuple[int | None, torch.dtype, int], Tensor]
"""(window, dtype, queries per key head) -> what to add to scores: 0, or −∞ for hidden keys."""


@dataclass(frozen=True)
class QueryBlock:
    """The cells that have queries in one block of positions, and where to find their rows."""

    first: int
    """Position of the first query."""
    size: int
    n_cells: int
    n_keys: int
    queries: Callable[[int], Tensor]
    """heads -> flat index into [packed rows × heads], ordered [cells, heads, size]. Where a cell
    has no query it names row 0: computed, never read."""
    keys: Callable[[int], Tensor]
    """kv_heads -> flat index into [(prefix positions ‖ packed rows) × kv_heads], ordered
    [cells, kv_heads, keys]."""
    outputs: Callable[[int], Tensor]
    """heads -> where [packed rows of this block × heads] are in [cells, heads, size]."""
    rows: Tensor | None
    """The packed rows of this block, in order; None when they are all rows, from the first."""
    ragged: Ragged | None = None
    """The same for fused attention, where there is such a kernel."""
    masks: Masks = field(default_factory=dict)
    """Made once, not at every layer."""


@dataclass(frozen=True)
class Stretch:
    """Consecutive queries of one cell, and where its keys are."""

    first: int
    """Position of the first query, and …"""
    row: int
    """… its packed row."""
    count: int
    own: int
    """The first position at which keys are the cell's own, and …"""
    own_row: int
    """… their row."""
    prompt: int
    """The row of the prompt's position 0 in the shared prefix."""

    def blocks(self) -> "Iterator[Stretch]":
        """The same, cut at multiples of `FAR_BLOCK`."""
        at, end = self.first, self.first + self.count
        while at < end:
            stop = min(end, at - at % FAR_BLOCK + FAR_BLOCK)
            yield replace(self, first=at, row=self.row + at - self.first, count=stop - at)
            at = stop


FarMasks = dict[tuple[int | None, torch.dtype, int, int], Tensor]
"""(window, dtype, queries per key head, keys) -> what to add to the last columns of scores."""


@dataclass(frozen=True)
class Far:
    """The far queries of some cells, prompt by prompt."""

    stretches: Sequence[Stretch]
    masks: FarMasks = field(default_factory=dict)
    """Made once, not at every layer."""

    @property
    def n_keys(self) -> int:
        """How many keys the furthest of them gets."""
        return max(padded(each.first + each.count, FAR_BLOCK) for each in self.stretches)


Queries = QueryBlock | Far


@dataclass
class RowPlan:
    """What the packed rows of one layer call are."""

    layer_of: dict[int, int]
    """id of an attention module -> its layer."""
    blocks: Sequence[Queries]
    n_rows: int
    prefix: list[KeysValues] | None
    """The unpatched run, per layer; None while it is being recorded."""
    recorded: dict[int, KeysValues] = field(default_factory=dict)
    record: bool = False
    keys_from: dict[int, KeysValues] | None = None
    """Suffix keys and values computed by an earlier call, instead of this call's own rows."""
    only_keys: bool = False
    """Stop the layer once its keys and values are known."""
    fixed_rows: Tensor | None = None
    """Packed rows that take the unpatched run's output, and …"""
    fixed_outputs: dict[int, Tensor] | None = None
    """… that output, per layer: [len(fixed_rows), heads * width]."""
    outputs: dict[int, Tensor] | None = None
    """Where to keep attention outputs, per layer, when they are wanted."""
    layer: int = 0
    """The layer being called, where it is compiled and cannot say so itself."""
    callers: set[int] = field(default_factory=set)
    """Ids of the modules that called."""
    due: Due | None = None
    """What is written inside the attention function: to rows of [packed rows × heads]."""
    restored: tuple[Tensor, Tensor] | None = None
    """Rows of [packed rows × heads] that see none of it, and their unpatched outputs."""
    queries: dict[int, Tensor] | None = None
    """Where to keep queries, per layer, when they are wanted: [rows, heads, width]."""
    patterns: dict[int, Tensor] | None = None
    """The same of attention weights: [rows, heads, keys]."""
    shapes: list[tuple[int, HeadShape]] | None = None
    """Where to note the layer of each call and what heads it came with, when that is wanted."""

    @property
    def near(self) -> list[QueryBlock]:
        """The blocks without the far queries."""
        return [block for block in self.blocks if isinstance(block, QueryBlock)]

    @property
    def far(self) -> list[Far]:
        """The far queries."""
        return [block for block in self.blocks if isinstance(block, Far)]

    def writes_to(self, hook: Hook) -> bool:
        """Whether something is to be written there."""
        return self.due is not None and hook in self.due.writes


class KeysKnown(Exception):
    """Raised inside a layer to leave it: its keys and values have been noted."""


_current: ContextVar[RowPlan | None] = ContextVar("sonde_plan", default=None)


@contextmanager
def using(plan: RowPlan) -> Iterator[None]:
    """Attention inside the block follows `plan`."""
    token = _current.set(plan)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> RowPlan:
    """The plan to follow here."""
    plan = _current.get()
    if plan is None:
        raise UnsupportedAttention("the model was run outside Sonde's engine with its attention")
    return plan
