"""Suffixes packed end to end, and the index tensors attention needs to read them.

A cell is one patched run. Its suffix, positions p … T−1, is a segment of consecutive packed rows.
Cells are in order of the layer at which they enter, so the rows active at any layer are a prefix of
the packing: everything here is computed once per chunk and sliced per layer.

Cells may be of several prompts, whose unpatched runs lie end to end too: then a cell's shared
prefix begins where its own prompt does. Everything that decides a query's arithmetic (its block,
how many queries it is computed with, how many keys) depends on its own prompt alone, so a cell has
the same bits whichever prompts are beside it.

In a block of positions most cells have fewer queries than the block is long. Where the prompt is
short, cells with about as many queries share a block of that size; the keys stay those of the whole
block, so a query's arithmetic does not change.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sonde.backends.torch.packed.plan import (
    FAR,
    Far,
    FarMasks,
    Masks,
    Queries,
    QueryBlock,
    Ragged,
    Stretch,
)
from sonde.backends.torch.packed.rows import ByHead, Slots, index_tensor

Ints = NDArray[np.int64]
QUERIES: Final = (4, 8)
"""Numbers of queries that have blocks of their own on a CPU, besides the block's length. A product
with fewer than four rows has other bits."""
SHORT: Final = 2
"""Blocks of a prompt up to which that pays: each further block of queries costs some operations."""


class _Indices(NamedTuple):
    """Where a block's rows are, for all its cells in order."""

    queries: ByHead
    keys: ByHead
    slots: Slots
    rows: Tensor
    rows_before: Ints
    """How many rows of the block belong to its first n cells."""


@dataclass(frozen=True)
class _Block:
    """One block for all cells of the chunk that have queries in it."""

    first: int
    """Position of the first query."""
    size: int
    n_keys: int
    cells: Ints
    indices: Callable[[], _Indices]
    """Made when first asked for: fused attention never asks."""
    masks: Masks = field(default_factory=dict)


class Segments:
    """Where the rows of a chunk's cells are."""

    def __init__(
        self,
        starts: Sequence[int],
        n_tokens: Sequence[int] | Ints,
        *,
        block: int,
        device: torch.device,
        prefixes: Ints | None = None,
        n_prefix: int | None = None,
    ) -> None:
        """`starts` is the first position of each cell's suffix, in order of entry.

        `n_tokens` is the length of each cell's prompt, `prefixes` the row of its position 0 among
        the `n_prefix` rows of the shared prefix. If not said, all cells are of one prompt, and the
        prefix has keys for all of its positions.
        """
        self.first = np.asarray(starts, dtype=np.int64)
        self._n_tokens = np.asarray(n_tokens, dtype=np.int64)
        self._base = np.asarray(np.zeros_like(self.first) if prefixes is None else prefixes)
        self._longest = int(self._n_tokens.max(initial=0))
        self._n_prefix = self._longest if n_prefix is None else n_prefix
        self.device, self._size = device, block
        lengths = self._n_tokens - self.first
        self.offset: Ints = np.concatenate([[0], np.cumsum(lengths)])
        self.n_rows = int(self.offset[-1])
        cell = np.repeat(np.arange(len(self.first)), lengths)
        position = np.arange(self.n_rows) - self.offset[cell] + self.first[cell]
        self.trace_rows = self._tensor(self._base[cell] + position)
        """The row of the unpatched run that each packed row would have."""
        self._counts = -(-self._n_tokens // block)
        self._far = device.type == "cpu"
        # What lies beyond FAR is `far`'s: blocks there would copy a long prefix for a few queries.
        count = -(-(min(self._longest, FAR) if self._far else self._longest) // block)
        self._blocks = [b for index in range(count) for b in self._blocks_of(index)]
        self._far_masks: FarMasks = {}
        # Then packed rows are the block's, in order, and need not be looked up.
        self._only_block = len(self._blocks) == 1 and not (self._far and self._longest > FAR)
        self._is_fused = device.type == "cuda"  # one block a prompt there
        if self._is_fused:
            self._key_offset: Ints = np.concatenate([[0], np.cumsum(self._n_tokens)])
            self._key_rows = self._all_key_rows()
            self._query_ends = self._tensor(self.offset).to(torch.int32)
            self._numbers = torch.arange(len(self.first) + 1, device=device, dtype=torch.int32)
            self._key_ends = self._tensor(self._key_offset).to(torch.int32)

    def row(self, cell: int, position: int) -> int:
        """The packed row of a cell's position."""
        return int(self.offset[cell] + position - self.first[cell])

    def rows_of_positions(self, cells: Ints, positions: Ints) -> Ints:
        """The same for many."""
        rows: Ints = self.offset[cells] + positions - self.first[cells]
        return rows

    def rows_at(self, cell: int) -> range:
        """The packed rows of a cell, of its suffix in order."""
        return range(int(self.offset[cell]), int(self.offset[cell + 1]))

    def rows_of(self, n_cells: int) -> int:
        """How many rows the first cells have."""
        return int(self.offset[n_cells])

    def last_rows(self, n_cells: int) -> list[int]:
        """The packed row of each cell's last position."""
        rows: list[int] = (self.offset[1 : n_cells + 1] - 1).tolist()
        return rows

    def blocks(self, n_cells: int) -> list[Queries]:
        """Attention indices of the first `n_cells` cells."""
        counts = [int(np.searchsorted(block.cells, n_cells)) for block in self._blocks]
        near = [self._slice(block, n) for block, n in zip(self._blocks, counts, strict=True) if n]
        return [*near, *self._far_queries(n_cells)]

    def _far_queries(self, n_cells: int, *, last: bool = False) -> list[Far]:
        """Those of the first cells that are far into their prompts; or the last of each alone.

        Prompt by prompt, and the longest shared prefix first: a cell then finds in place what it
        shares with the one before.
        """
        reach = self._n_tokens[:n_cells] if self._far else self._n_tokens[:0]
        cells = np.flatnonzero(reach > FAR)
        own, base = self.first[cells], self._base[cells]
        if not len(cells):
            return []
        order = np.lexsort((-own, base))  # its last key counts first: the prompt
        ends, offset = self._n_tokens[cells], self.offset[cells]
        first = ends - 1 if last else np.maximum(own, FAR)
        row = cells if last else offset + first - own
        table = np.stack([first, row, ends - first, own, offset, base], 1)[order]
        return [Far([Stretch(*line) for line in table.tolist()], self._far_masks)]

    def _slice(self, block: _Block, n: int) -> QueryBlock:
        def n_rows() -> int:
            return int(block.indices().rows_before[n])

        return QueryBlock(
            block.first,
            block.size,
            n,
            block.n_keys,
            lambda heads: block.indices().queries.first(n, heads),
            lambda heads: block.indices().keys.first(n, heads),
            lambda heads: block.indices().slots.first(n_rows(), heads),
            None if self._only_block else block.indices().rows[: n_rows()],
            self._ragged(n, self._query_ends, int(self.offset[n])) if self._is_fused else None,
            block.masks,
        )

    def last_blocks(self, n_cells: int) -> list[Queries]:
        """Attention of the last position alone: packed row c is cell c's last query."""
        if not n_cells:
            return []
        if self._is_fused:
            ragged = self._ragged(n_cells, self._numbers, n_cells)
            return [self._last_block(np.arange(n_cells), self._size, ragged)]
        lengths, size = self._n_tokens[:n_cells], min(QUERIES[0], self._size)
        near = [n for n in np.unique(lengths).tolist() if not self._far or n <= FAR]
        blocks = [self._last_block(np.flatnonzero(lengths == n), size) for n in near]
        return [*blocks, *self._far_queries(n_cells, last=True)]

    def _last_block(self, cells: Ints, size: int, ragged: Ragged | None = None) -> QueryBlock:
        """The last query of some cells, of one length but where fused attention takes them."""
        on_cpu, count = self.device.type == "cpu", len(cells)
        n_tokens, n_keys = self._n_tokens[cells], int(self._counts[cells].max()) * self._size
        longest = int(n_tokens.max())
        # On a CPU the query ends a block of four: fewer rows have other bits (`QUERIES`).
        first = max(0, longest - size) if on_cpu else n_keys - size
        slot = n_tokens - 1 - first
        whole = count == len(self.first) or ragged is not None
        own = self.first[cells, None], self._n_prefix + self.offset[cells, None]
        base, last = self._base[cells, None], n_tokens[:, None]
        tensor = partial(_tensor, self.device)

        @cache
        def queries() -> ByHead:
            rows = np.zeros((count, size), dtype=np.int64)
            rows[np.arange(count), slot] = cells
            return ByHead(tensor(rows))

        @cache
        def keys() -> ByHead:
            return ByHead(tensor(_keys(*own, base, n_keys, last)))

        @cache
        def slots() -> Slots:
            return Slots(tensor(np.arange(count)), tensor(slot), size)

        return QueryBlock(
            first,
            size,
            count,
            n_keys,
            lambda heads: queries().first(count, heads),
            lambda heads: keys().first(count, heads),
            lambda heads: slots().first(count, heads),
            None if whole else tensor(cells),
            ragged,
        )

    def _blocks_of(self, index: int) -> list[_Block]:
        """The queries at one block of positions: all together, or by how many a cell has.

        What a cell is computed with depends on its own prompt's length, never on its neighbours'.
        """
        begin = index * self._size
        end = np.minimum(begin + self._size, self._n_tokens)
        cells = np.flatnonzero((self.first < end) & (self._n_tokens > begin))
        if self.device.type != "cpu":
            return [self._block(begin, self._size, index, cells)]
        # The smallest size that holds a cell's queries. A block smaller than the whole ends where
        # they end, and so begins earlier than they do; its keys stay those of the whole block.
        sizes = np.array([*[n for n in QUERIES if n < self._size], self._size])
        needed = end[cells] - np.maximum(self.first[cells], begin)
        short = self._counts[cells] <= SHORT
        size = np.where(short, sizes[np.searchsorted(sizes, needed)], self._size)
        first = np.where(short, np.maximum(0, end[cells] - size), begin)
        kinds = np.unique(np.stack([size, first], 1), axis=0).tolist()
        return [self._block(f, n, index, cells[(size == n) & (first == f)]) for n, f in kinds]

    def _block(self, begin: int, size: int, index: int, cells: Ints) -> _Block:
        """Queries of `cells` at positions from `begin` on, within the block of that index."""
        n_keys, lowest = (index + 1) * self._size, index * self._size
        first, offset = self.first[cells, None], self.offset[cells, None]
        base, n_tokens = self._base[cells, None], self._n_tokens[cells, None]
        n_prefix, tensor = self._n_prefix, partial(_tensor, self.device)

        @cache  # holds no `self`: in a cycle a chunk's indices would outlive it
        def indices() -> _Indices:
            positions = np.arange(begin, begin + size)
            # `begin` may lie before `lowest`: those positions are the block before's.
            has = (positions >= np.maximum(first, lowest)) & (positions < n_tokens)
            query = np.where(has, offset + positions - first, 0)
            cell, slot = np.nonzero(has)
            return _Indices(
                ByHead(tensor(query)),
                ByHead(tensor(_keys(first, n_prefix + offset, base, n_keys, n_tokens))),
                Slots(tensor(cell), tensor(slot), size),
                tensor(query[cell, slot]),
                np.concatenate([[0], np.cumsum(has.sum(1))]),
            )

        return _Block(begin, size, n_keys, cells, indices)

    def _ragged(self, n_cells: int, query_ends: Tensor, n_queries: int) -> Ragged:
        """The first cells' suffixes for fused attention; `query_ends` are theirs and others'."""
        n_keys = int(self._n_tokens[:n_cells].max(initial=0))
        rows = self._key_rows[: int(self._key_offset[n_cells])]
        ends, key_ends = query_ends[: n_cells + 1], self._key_ends[: n_cells + 1]
        return Ragged(rows, ends, key_ends, 0, n_queries, n_keys)

    def _all_key_rows(self) -> Tensor:
        """Each cell's keys at positions 0 … T−1, as rows of [prefix ‖ packed rows]."""
        cell = np.repeat(np.arange(len(self.first)), self._n_tokens)
        key = np.arange(len(cell)) - self._key_offset[cell]
        own = self._n_prefix + self.offset[cell] + key - self.first[cell]
        return self._tensor(np.where(key >= self.first[cell], own, self._base[cell] + key))

    def _tensor(self, values: Ints) -> Tensor:
        return _tensor(self.device, values)


def _keys(first: Ints, begin: Ints, base: Ints, n_keys: int, n_tokens: Ints) -> Ints:
    """Rows of [prefix ‖ packed rows] of the first keys of cells; row 0 beyond the prompt.

    `first` is each cell's first position of its own, `begin` its row there, `base` the row of its
    prompt's position 0, and `n_tokens` its prompt's length: [cells, 1].
    """
    # Row 0 stands in for keys after the prompt: no query is that far, so all of them are masked.
    keys = np.arange(n_keys)
    own = (keys >= first) & (keys < n_tokens)
    return np.where(own, begin + keys - first, np.where(keys < first, base + keys, 0))


def _tensor(device: torch.device, values: Ints) -> Tensor:
    return index_tensor(np.ascontiguousarray(values), device)


def whole_prompts(
    sizes: Sequence[int], blocks: Sequence[int], device: torch.device
) -> list[Queries]:
    """The blocks of prompts laid end to end, none with a prefix; on a GPU one block a prompt."""
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    if device.type == "cuda":
        return [_whole_prompt(start, n, device) for start, n in zip(starts, sizes, strict=True)]
    size, near = blocks[0], min(max(sizes), FAR)
    # Nothing is shared while prompts are recorded: all keys are their own, from position 0 on.
    far = [
        Stretch(FAR, start + FAR, n - FAR, 0, start, start)
        for start, n in zip(starts, sizes, strict=True)
        if n > FAR
    ]
    found = [_joint_block(starts, sizes, size, begin) for begin in range(0, near, size)]
    return [*found, *([Far(far)] if far else [])]


def _joint_block(starts: Sequence[int], sizes: Sequence[int], size: int, begin: int) -> QueryBlock:
    """The queries from position `begin` on of all prompts that are so long."""
    prompts = [(start, n) for start, n in zip(starts, sizes, strict=True) if n > begin]
    first = np.array([start for start, _ in prompts])[:, None]
    length = np.array([n for _, n in prompts])[:, None]
    positions, keys = np.arange(begin, begin + size), np.arange(begin + size)
    has = positions < length
    query = np.where(has, first + positions, first)
    cell, slot = (torch.from_numpy(index) for index in np.nonzero(has))
    by_query = ByHead(torch.from_numpy(query))
    by_key = ByHead(torch.from_numpy(np.where(keys < length, first + keys, first)))
    slots = Slots(cell, slot, size)
    return QueryBlock(
        begin,
        size,
        len(prompts),
        begin + size,
        lambda heads: by_query.first(len(prompts), heads),
        lambda heads: by_key.first(len(prompts), heads),
        lambda heads: slots.first(len(cell), heads),
        torch.from_numpy(query[has]),
    )


def _whole_prompt(start: int, size: int, device: torch.device) -> QueryBlock:
    """All queries of a prompt whose first row is `start`, for fused attention."""
    rows = start + torch.arange(size, device=device)
    slots = Slots(torch.zeros_like(rows), rows - start, size)
    ends = torch.tensor([0, size], dtype=torch.int32).to(device, non_blocking=True)
    by_row = ByHead(rows[None])
    return QueryBlock(
        0,
        size,
        1,
        size,
        lambda heads: by_row.first(1, heads),
        lambda heads: by_row.first(1, heads),
        lambda heads: slots.first(size, heads),
        rows,
        Ragged(rows, ends, ends, start, size, size),
    )
