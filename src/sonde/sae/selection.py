"""Picking the few that matter out of a block of pre-activations, exactly and quickly.

Selecting can cost as much as the product it follows: a library's top-k looks at every value many
times. Here values are looked at once, in blocks:

1. **Maxima**  of blocks of columns, one pass.
2. **Bound**   the k-th largest maximum. At least k values are as large, so no smaller one counts.
3. **Sift**    CPU: the values that reach the bound, little more than k. GPU, where a number that
               varies would stall it: all values of the k blocks with the largest maxima. The k
               largest values are among them.
4. **Order**   what is left.

On a CPU equal values come lowest index first; on a GPU in any order.
"""

import math
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sonde.sae.active import Active

BLOCKS_PER_K: Final = 4
"""Blocks for each value wanted. With four, about 1.15 k values reach the bound."""

_LOW: Final = 0x7FFFFFFF
"""All bits of a float32 but its sign; also room for a column in the lower half of a key."""
_NOTHING: Final = np.iinfo(np.int64).min


def largest(pre: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Indices and values of the k largest of each row, largest first. [n, width] -> [n, k] each"""
    k = min(k, pre.shape[1])
    if not len(pre):
        return pre.new_empty(0, k, dtype=torch.int64), pre.new_empty(0, k)
    if pre.device.type == "cpu":
        return _largest_on_cpu(pre, k)
    return _largest_on_gpu(pre, k)


def above(pre: Tensor, bound: Tensor | float) -> Active:
    """Every value larger than its bound. [n, width] -> active features"""
    chosen = pre > bound
    if pre.device.type == "cpu":
        flat = torch.from_numpy(_true(chosen.numpy()))
    else:
        flat = chosen.view(-1).nonzero().view(-1)
    begins = torch.arange(len(pre) + 1, device=flat.device) * pre.shape[1]
    return Active(
        indices=flat % pre.shape[1],
        values=pre.reshape(-1)[flat],
        offsets=torch.searchsorted(flat, begins),
    )


def rectangle(indices: Tensor, values: Tensor, *, descending: bool) -> Active:
    """Rows of one length as active features. [n, k] each"""
    n, k = indices.shape
    offsets = torch.arange(n + 1, device=indices.device) * k
    return Active(indices.reshape(-1), values.reshape(-1), offsets, k, descending)


def _maxima(pre: Tensor, blocks: int) -> Tensor:
    """Of columns j, j + blocks, j + 2·blocks, …: neighbours in memory stay apart. -> [n, blocks]

    Columns that do not fill a last round are left out.
    """
    size = pre.shape[1] // blocks
    shape = (len(pre), size, blocks)
    return pre[:, : size * blocks].as_strided(shape, (pre.stride(0), blocks, 1)).amax(1)


def _largest_on_cpu(pre: Tensor, k: int) -> tuple[Tensor, Tensor]:
    values = pre.numpy()
    width = values.shape[1]
    if width < 2 * BLOCKS_PER_K * k:  # blocks of one column would sift nothing out
        return _ordered(_keys(values, np.arange(width)), k)
    blocks = BLOCKS_PER_K * k
    maxima = _maxima(pre, blocks).numpy()
    maxima.sort(axis=1)
    flat = _true(values >= maxima[:, blocks - k, None])
    rows, columns = np.divmod(flat, width)
    counts = np.bincount(rows, minlength=len(values))
    if counts.min() < k:  # only NaN, from sums beyond float32, is not as large as its own maximum
        return _largest_on_cpu(pre.nan_to_num(-math.inf, math.inf, -math.inf), k)
    longest = int(counts.max())
    sifted = np.full((len(values), longest), _NOTHING)
    # From one list, row after row, into a rectangle: each row moves to where its line begins.
    shift = np.arange(len(values)) * longest - (np.cumsum(counts) - counts)
    sifted.reshape(-1)[np.arange(len(flat)) + shift[rows]] = _keys(
        values.reshape(-1)[flat], columns
    )
    return _ordered(sifted, k)


def _true(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Where it is true, as flat indices: words of eight first, of which few have any."""
    flat = mask.reshape(-1)
    if flat.size % 8:
        return np.flatnonzero(flat)
    words = flat.view(np.uint64)
    some = np.flatnonzero(words != 0)
    within = np.flatnonzero(words[some].view(np.bool_))
    found: NDArray[np.int64] = (some[within >> 3] << 3) | (within & 7)
    return found


def _keys(values: NDArray[np.float32], columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Value and column in one number that sorts by value, and by lower column among equals."""
    numbers = np.where(np.isnan(values), np.float32(-np.inf), values + np.float32(0))  # -0 is 0
    # As integers, the bits of positive floats are in order; those of negative ones are in reverse,
    # until all but the sign is turned over. Columns count down: of equals the lower one is larger.
    bits = numbers.view(np.int32)
    ordered = np.where(bits < 0, bits ^ _LOW, bits).astype(np.int64)
    keys: NDArray[np.int64] = (ordered << 32) | (_LOW - columns)
    return keys


def _ordered(keys: NDArray[np.int64], k: int) -> tuple[Tensor, Tensor]:
    """The k largest keys of each row, taken apart again. Sorts the keys in place."""
    keys.sort(axis=1)
    top = np.ascontiguousarray(keys[:, : -k - 1 : -1])
    bits = (top >> 32).astype(np.int32)  # turned over again below, as in `_keys`
    values: NDArray[Any] = np.where(bits < 0, bits ^ _LOW, bits).astype(np.int32).view(np.float32)
    return torch.from_numpy(_LOW - (top & _LOW)), torch.from_numpy(values)


def _largest_on_gpu(pre: Tensor, k: int) -> tuple[Tensor, Tensor]:
    n, width = pre.shape
    size = 2 ** round(math.log2(width / k) / 2)  # about as many blocks as values in those chosen
    if size < 4:
        values, indices = pre.topk(k, dim=1)
        return indices, values
    blocks = width // size
    best = _maxima(pre, blocks).topk(k, dim=1, sorted=False).indices
    rounds = torch.arange(size, device=pre.device) * blocks
    columns = (best[:, None, :] + rounds[:, None]).view(n, -1)
    # Columns that fill no last round have no maximum: they are looked at in any case.
    rest = torch.arange(size * blocks, width, device=pre.device).expand(n, -1)
    columns = torch.cat([columns, rest], dim=1)
    values, places = pre.gather(1, columns).topk(k, dim=1)
    return columns.gather(1, places), values
