"""Padding that makes a row's bits independent of the rows beside it.

A CPU matrix product picks its kernel by the number of rows, and kernels add in different orders:
44 of 48 trials differed. With the count rounded up to a multiple of 16, none did.
"""

from typing import Final

import torch
from torch import Tensor

ROW_MULTIPLE: Final = 16


def padded(n: int, multiple: int = ROW_MULTIPLE) -> int:
    """`n` rounded up to a whole number of row groups."""
    return -(-n // multiple) * multiple


def pad_rows(rows: Tensor, multiple: int = ROW_MULTIPLE) -> Tensor:
    """Rows [n, width], with zero rows after them up to a multiple."""
    missing = padded(rows.shape[0], multiple) - rows.shape[0]
    return torch.cat([rows, rows.new_zeros(missing, *rows.shape[1:])]) if missing else rows
