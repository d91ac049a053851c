"""Padding that makes a row's bits independent of the rows beside it.

A CPU matrix product picks its kernel by the number of rows, and kernels add in different orders:
44 of 48 trials differed. With the count rounded up to a multiple of 16, none did.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

ROW_MULTIPLE: Final = {"cpu": 16, "cuda": 128}
"""On CUDA the multiple is a tile of the matrix product, for speed; bits there are measured."""


def index_tensor(values: Sequence[int] | NDArray[np.int64], device: torch.device) -> Tensor:
    """Integers on the device, without waiting for what it is doing."""
    return torch.as_tensor(values, dtype=torch.int64).to(device, non_blocking=True)


def padded(n: int, multiple: int) -> int:
    """`n` rounded up to a multiple."""
    return -(-n // multiple) * multiple


def padded_rows(n: int, device: torch.device) -> int:
    """How many rows a batch of `n` gets."""
    return padded(n, ROW_MULTIPLE[device.type])


def pad_rows(rows: Tensor) -> Tensor:
    """Rows [n, width], with zero rows after them up to a whole number of row groups."""
    missing = padded_rows(rows.shape[0], rows.device) - rows.shape[0]
    return torch.cat([rows, rows.new_zeros(missing, *rows.shape[1:])]) if missing else rows
