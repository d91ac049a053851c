"""Suffixes packed end to end, and the index tensors attention needs to read them.

A cell is one patched run. Its suffix, positions p … T−1, is a segment of consecutive packed rows.
Cells are in order of the layer at which they enter, so the rows active at any layer are a prefix of
the packing: everything here is computed once per chunk and sliced per layer.

In a block of positions most cells have fewer queries than the block is long. Where the prompt is
short, cells with about as many queries share a block of that size; the keys stay those of the whole
block, so a query's arithmetic does not change.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sonde.backends.torch.attention import Masks, QueryBlock, Ragged
from sonde.backends.torch.rows import index_tensor

Ints = NDArray[np.int64]
QUERIES: Final = (4, 8)
"""Numbers of queries that have blocks of their own on a CPU, besides the block's length. A product
with fewer than four rows has other bits."""
SHORT: Final = 2
"""Blocks of a prompt up to which that pays: each further block of queries costs some operations."""


class ByHead:
    """A row index [cells, m] turned into flat indices of [rows × heads], once per head count.

    Heads are interleaved within a row: row r, head h is r * heads + h.
    """

    def __init__(self, index: Tensor) -> None:
        """`index` is [cells, m]."""
        self._index = index
        self._cached: dict[int, Tensor] = {}

    def first(self, n_cells: int, heads: int) -> Tensor:
        """The flat index of the first cells, ordered [cells, heads, m]."""
        if heads not in self._cached:
            head = torch.arange(heads, device=self._index.device)[None, :, None]
            self._cached[heads] = self._index[:, None, :] * heads + head
        return self._cached[heads][:n_cells].reshape(-1)


class Slots:
    """Where packed rows are among [cells, heads, size], once per head count."""

    def __init__(self, cell: Tensor, slot: Tensor, size: int) -> None:
        """Row i is query `slot[i]` of the block's cell `cell[i]`."""
        self._cell, self._slot, self._size = cell, slot, size
        self._cached: dict[int, Tensor] = {}

    def first(self, n_rows: int, heads: int) -> Tensor:
        """The flat places of the first rows, ordered [rows, heads]."""
        if heads not in self._cached:
            head = torch.arange(heads, device=self._cell.device)[None, :]
            flat = (self._cell[:, None] * heads + head) * self._size + self._slot[:, None]
            self._cached[heads] = flat
        return self._cached[heads][:n_rows].reshape(-1)


@dataclass(frozen=True)
class _Block:
    """One block's indices for all cells of the chunk, cells in order."""

    first: int
    """Position of the first query."""
    size: int
    n_keys: int
    cells: Ints
    queries: ByHead
    keys: ByHead
    slots: Slots
    rows: Tensor
    rows_before: Ints
    """How many rows of the block belong to its first n cells."""
    masks: Masks = field(default_factory=dict)


class Segments:
    """Where the rows of a chunk's cells are."""

    def __init__(
        self,
        starts: Sequence[int],
        n_tokens: int,
        *,
        block: int,
        device: torch.device,
        n_prefix: int | None = None,
    ) -> None:
        """`starts` is the first position of each cell's suffix, in order of entry.

        The shared prefix has keys for `n_prefix` positions; for all of them, if not said.
        """
        self.first = np.asarray(starts, dtype=np.int64)
        self._n_prefix = n_tokens if n_prefix is None else n_prefix
        self.n_tokens, self.device, self._size = n_tokens, device, block
        lengths = n_tokens - self.first
        self.offset: Ints = np.concatenate([[0], np.cumsum(lengths)])
        self.n_rows = int(self.offset[-1])
        cell = np.repeat(np.arange(len(self.first)), lengths)
        position = np.arange(self.n_rows) - self.offset[cell] + self.first[cell]
        self.positions = self._tensor(position)
        self._count = -(-n_tokens // block)
        self._blocks = [b for index in range(self._count) for b in self._blocks_of(index)]
        if device.type == "cuda":
            self._key_rows = self._all_key_rows()

    def row(self, cell: int, position: int) -> int:
        """The packed row of a cell's position."""
        return int(self.offset[cell] + position - self.first[cell])

    def rows_of(self, n_cells: int) -> int:
        """How many rows the first cells have."""
        return int(self.offset[n_cells])

    def last_rows(self, n_cells: int) -> Tensor:
        """The packed row of each cell's last position."""
        return self._tensor(self.offset[1 : n_cells + 1] - 1)

    def blocks(self, n_cells: int) -> list[QueryBlock]:
        """Attention indices of the first `n_cells` cells."""
        counts = [int(np.searchsorted(block.cells, n_cells)) for block in self._blocks]
        return [self._slice(block, n) for block, n in zip(self._blocks, counts, strict=True) if n]

    def _slice(self, block: _Block, n: int) -> QueryBlock:
        n_rows = int(block.rows_before[n])
        return QueryBlock(
            block.first,
            block.size,
            n,
            block.n_keys,
            lambda heads: block.queries.first(n, heads),
            lambda heads: block.keys.first(n, heads),
            lambda heads: block.slots.first(n_rows, heads),
            None if len(self._blocks) == 1 else block.rows[:n_rows],
            self._ragged(n, self.offset[: n + 1]) if len(self._blocks) == 1 else None,
            block.masks,
        )

    def last_block(self, n_cells: int) -> QueryBlock:
        """Attention of the last position alone: packed row c is cell c's last query."""
        on_cpu = self.device.type == "cpu"
        size = min(QUERIES[0], self._size) if on_cpu else self._size
        first = max(0, self.n_tokens - size) if on_cpu else (self._count - 1) * size
        slot = self.n_tokens - 1 - first
        cells = torch.arange(n_cells, device=self.device)
        slots = torch.full_like(cells, slot)
        queries = torch.zeros(n_cells, size, dtype=torch.int64, device=self.device)
        queries[:, slot] = cells
        n_keys = self._count * self._size
        keys = ByHead(self._tensor(self._keys(np.arange(n_cells), n_keys)))
        return QueryBlock(
            first,
            size,
            n_cells,
            n_keys,
            lambda heads: ByHead(queries).first(n_cells, heads),
            lambda heads: keys.first(n_cells, heads),
            lambda heads: Slots(cells, slots, size).first(n_cells, heads),
            None,
            self._ragged(n_cells, np.arange(n_cells + 1)),
        )

    def _blocks_of(self, index: int) -> list[_Block]:
        """The queries at one block of positions: all together, or by how many a cell has."""
        begin, end = index * self._size, min((index + 1) * self._size, self.n_tokens)
        cells = np.flatnonzero(self.first < end)
        if self.device.type != "cpu" or self._count > SHORT:
            return [self._block(begin, self._size, index, cells)]
        sizes = np.array([*[n for n in QUERIES if n < self._size], self._size])
        needed = end - np.maximum(self.first[cells], begin)
        kind = sizes[np.searchsorted(sizes, needed)]
        return [
            self._block(max(0, end - size), size, index, cells[kind == size])
            for size in np.unique(kind).tolist()
        ]

    def _block(self, begin: int, size: int, index: int, cells: Ints) -> _Block:
        """Queries of `cells` at positions from `begin` on, within the block of that index."""
        positions, n_keys = np.arange(begin, begin + size), (index + 1) * self._size
        first, offset = self.first[cells, None], self.offset[cells, None]
        has = (positions >= np.maximum(first, index * self._size)) & (positions < self.n_tokens)
        query = np.where(has, offset + positions - first, 0)
        cell, slot = np.nonzero(has)
        return _Block(
            begin,
            size,
            n_keys,
            cells,
            ByHead(self._tensor(query)),
            ByHead(self._tensor(self._keys(cells, n_keys))),
            Slots(self._tensor(cell), self._tensor(slot), size),
            self._tensor(query[cell, slot]),
            np.concatenate([[0], np.cumsum(has.sum(1))]),
        )

    def _keys(self, cells: Ints, n_keys: int) -> Ints:
        """Rows of [prefix ‖ packed rows] of the first keys of cells; row 0 beyond the prompt."""
        keys = np.arange(n_keys)
        first, offset = self.first[cells, None], self.offset[cells, None]
        own = (keys >= first) & (keys < self.n_tokens)
        shared = np.where(keys < first, keys, 0)
        return np.where(own, self._n_prefix + offset + keys - first, shared)

    def _ragged(self, n_cells: int, queries: Ints) -> Ragged | None:
        """The first cells' suffixes for fused attention; `queries` are their ends."""
        if self.device.type != "cuda":
            return None
        keys = torch.arange(n_cells + 1, device=self.device, dtype=torch.int32) * self.n_tokens
        ends = self._tensor(queries).to(torch.int32)
        rows = self._key_rows[: n_cells * self.n_tokens]
        return Ragged(rows, ends, keys, 0, int(queries[-1]), self.n_tokens)

    def _all_key_rows(self) -> Tensor:
        """Each cell's keys at positions 0 … T−1, as rows of [prefix ‖ packed rows]."""
        keys = np.arange(self.n_tokens)
        first, offset = self.first[:, None], self.offset[:-1, None]
        rows = np.where(keys >= first, self._n_prefix + offset + keys - first, keys)
        return self._tensor(rows.reshape(-1))

    def _tensor(self, values: Ints) -> Tensor:
        return index_tensor(np.ascontiguousarray(values), self.device)


def whole_prompts(
    sizes: Sequence[int], blocks: Sequence[int], device: torch.device
) -> list[QueryBlock]:
    """The blocks of prompts laid end to end, none with a prefix; on a GPU one block a prompt."""
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    if device.type == "cuda":
        return [_whole_prompt(start, n, device) for start, n in zip(starts, sizes, strict=True)]
    size, longest = blocks[0], max(sizes)
    return [_joint_block(starts, sizes, size, begin) for begin in range(0, longest, size)]


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
