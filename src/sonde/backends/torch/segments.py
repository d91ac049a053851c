"""Suffixes packed end to end, and the index tensors attention needs to read them.

A cell is one patched run. Its suffix, positions p … T−1, is a segment of consecutive packed rows.
Cells are in order of the layer at which they enter, so the rows active at any layer are a prefix of
the packing: everything here is computed once per chunk and sliced per layer.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sonde.backends.torch.attention import QueryBlock, Ragged
from sonde.backends.torch.rows import index_tensor

Ints = NDArray[np.int64]


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

    index: int
    cells: Ints
    queries: ByHead
    keys: ByHead
    slots: Slots
    rows: Tensor
    rows_before: Ints
    """How many rows of the block belong to its first n cells."""


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
        self._blocks = [self._block(index) for index in range(-(-n_tokens // block))]
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
            block.index,
            self._size,
            n,
            (block.index + 1) * self._size,
            lambda heads: block.queries.first(n, heads),
            lambda heads: block.keys.first(n, heads),
            lambda heads: block.slots.first(n_rows, heads),
            None if len(self._blocks) == 1 else block.rows[:n_rows],
            self._ragged(n, self.offset[: n + 1]) if len(self._blocks) == 1 else None,
        )

    def last_block(self, n_cells: int) -> QueryBlock:
        """Attention of the last position alone: packed row c is cell c's last query."""
        block = self._blocks[-1]
        slot = (self.n_tokens - 1) % self._size
        cells = torch.arange(n_cells, device=self.device)
        slots = torch.full_like(cells, slot)
        queries = torch.zeros(n_cells, self._size, dtype=torch.int64, device=self.device)
        queries[:, slot] = cells
        return QueryBlock(
            block.index,
            self._size,
            n_cells,
            (block.index + 1) * self._size,
            lambda heads: ByHead(queries).first(n_cells, heads),
            lambda heads: block.keys.first(n_cells, heads),
            lambda heads: Slots(cells, slots, self._size).first(n_cells, heads),
            None,
            self._ragged(n_cells, np.arange(n_cells + 1)),
        )

    def _block(self, index: int) -> _Block:
        size = self._size
        positions = np.arange(index * size, (index + 1) * size)
        keys = np.arange((index + 1) * size)
        cells = np.flatnonzero(self.first <= min(positions[-1], self.n_tokens - 1))
        first, offset = self.first[cells, None], self.offset[cells, None]
        has = (positions >= first) & (positions < self.n_tokens)
        query = np.where(has, offset + positions - first, 0)
        own = (keys >= first) & (keys < self.n_tokens)
        key = np.where(own, self._n_prefix + offset + keys - first, np.where(keys < first, keys, 0))
        cell, slot = np.nonzero(has)
        return _Block(
            index,
            cells,
            ByHead(self._tensor(query)),
            ByHead(self._tensor(key)),
            Slots(self._tensor(cell), self._tensor(slot), size),
            self._tensor(query[cell, slot]),
            np.concatenate([[0], np.cumsum(has.sum(1))]),
        )

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
    """The blocks of prompts laid end to end, none with a prefix; sizes are whole blocks."""
    out, start = [], 0
    for size, block in zip(sizes, blocks, strict=True):
        out += [_whole_block(start, index, block, device) for index in range(size // block)]
        start += size
    return out


def _whole_block(start: int, index: int, size: int, device: torch.device) -> QueryBlock:
    """Block `index` of a prompt whose first row is `start`."""
    rows = start + torch.arange(index * size, (index + 1) * size, device=device)
    keys = start + torch.arange((index + 1) * size, device=device)
    slots = Slots(torch.zeros_like(rows), rows - start - index * size, size)
    ends = torch.tensor([0, size], dtype=torch.int32).to(device, non_blocking=True)
    ragged = Ragged(rows, ends, ends, start, size, size) if device.type == "cuda" else None
    return QueryBlock(
        index,
        size,
        1,
        len(keys),
        lambda heads: ByHead(rows[None]).first(1, heads),
        lambda heads: ByHead(keys[None]).first(1, heads),
        lambda heads: slots.first(size, heads),
        rows,
        ragged,
    )
