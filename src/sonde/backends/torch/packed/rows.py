"""Padding that makes a row's bits independent of the rows beside it.

A CPU matrix product picks its kernel by the number of rows, and kernels add in different orders:
44 of 48 trials differed. With the count rounded up to a multiple of 16, none did, given that MKL is
in its reproducible mode where its kernels need that (see `reproducible`). Products whose
weights are laid out beforehand (see `products`) have the same bits for any count above one, and so
need less padding. On a GPU only a fixed count does the same.

What names rows to a kernel is made here, too: integers on the device, and heads within rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True)
class RowShape:
    """How many rows batches have: a multiple of `multiple`, and not many more than `most`.

    `most` rows give full speed; more would only delay the first numbers. Where the two are equal
    every batch has the same shape, and so the same kernel.
    """

    multiple: int
    most: int

    @property
    def is_fixed(self) -> bool:
        """Whether all batches have the same shape."""
        return self.multiple == self.most

    def padded(self, n: int) -> int:
        """How many rows a batch of `n` gets."""
        return padded(n, self.multiple)


CPU_ROWS: Final = RowShape(16, 2048)
CPU_LAID_OUT_ROWS: Final = RowShape(4, 2048)
CUDA_ROWS: Final = RowShape(8, 32768)
"""Bits depend on the batch. Whole tiles of the matrix product are no faster, and have to be cut."""
CUDA_FIXED_ROWS: Final = RowShape(4096, 4096)
"""One shape for all batches: slower, and batch-invariant."""


def row_shape(device: torch.device, *, fixed: bool = False, laid_out: bool = False) -> RowShape:
    """The shape of batches on a device, where products have their weights `laid_out` or not."""
    if device.type == "cpu":
        return CPU_LAID_OUT_ROWS if laid_out else CPU_ROWS
    return CUDA_FIXED_ROWS if fixed else CUDA_ROWS


UNPINNED: Final = 4096
"""Integers that the driver takes along at once. A longer copy out of ordinary memory waits for all
that was launched before it, and the host with it."""


def index_tensor(values: Sequence[int] | NDArray[np.int64], device: torch.device) -> Tensor:
    """Integers on the device, without waiting for what it is doing.

    Not while launches are captured: they would be read again from where they no longer are.
    """
    if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
        raise RuntimeError("an index was made while launches were captured")
    made = torch.as_tensor(values, dtype=torch.int64)
    if device.type == "cuda" and made.numel() > UNPINNED:
        made = made.pin_memory()
    return made.to(device, non_blocking=True)


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


def padded(n: int, multiple: int) -> int:
    """`n` rounded up to a multiple."""
    return -(-n // multiple) * multiple


def pad_rows(rows: Tensor, multiple: int) -> Tensor:
    """Rows [n, width], with zero rows after them up to a multiple."""
    missing = padded(rows.shape[0], multiple) - rows.shape[0]
    return torch.cat([rows, rows.new_zeros(missing, *rows.shape[1:])]) if missing else rows


def filled_up(rows: Tensor, n: int) -> Tensor:
    """The rows, then the first one again until there are `n`."""
    return torch.cat([rows, rows[:1].expand(n - len(rows), *rows.shape[1:])])
