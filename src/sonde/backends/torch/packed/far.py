"""Attention of queries far into a prompt, on a CPU: cell by cell, the shared prefix where it lies.

Near the beginning, cells are computed together, each against a copy of its keys (`attention`): many
small things at once. In a long prompt that copy would be made again for every few queries, and the
products are large enough by themselves. So from position `FAR` on

1. **One table** of keys and values, by head and position, serves all cells of a prompt. It holds
   the shared prefix; a cell's own rows are written over it, and the next cell puts back what is
   the prefix's again. What is copied is what a cell has of its own.
2. **Each block** of positions is given all keys up to its end, one head of keys at a time: all
   query heads that read it in one product, as many rows as the cell has queries there.

How many keys a query gets depends on its position alone, and the products' rows have the same bits
for any number of rows above one (see `cpu/products`); where they might not, blocks are filled up.
"""

from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor

from sonde.backends.torch.cpu import products
from sonde.backends.torch.packed.pattern import Pattern
from sonde.backends.torch.packed.plan import FAR_BLOCK, Far, KeysValues, Stretch
from sonde.backends.torch.packed.style import Style, softmax

HIDDEN: Final = float("-inf")


def attend_far(
    out: Tensor,
    rows: Tensor,
    prefix: KeysValues | None,
    own: KeysValues,
    far: Far,
    style: Style,
    pattern: Pattern | None,
) -> None:
    """Attention of far queries, written into `out` [rows, heads, width].

    `own` are the keys and values of the packed rows, `prefix` the unpatched run's.
    """
    table = _Table(prefix, own, far.n_keys)
    for stretch in far.stretches:
        table.turn_to(stretch)
        for some in stretch.blocks():
            _attend_block(out, rows, table.held, some, far, style, pattern)


class _Table:
    """Keys and values of one cell at a time, [kv_heads, positions, width]."""

    def __init__(self, prefix: KeysValues | None, own: KeysValues, n_keys: int) -> None:
        """Nobody sees what lies beyond a query, but zeros times it must be zeros."""
        self._prefix, self._own = prefix, own
        n_heads = own.keys.shape[1]
        self.held = KeysValues(
            own.keys.new_zeros(n_heads, n_keys, own.keys.shape[2]),
            own.values.new_zeros(n_heads, n_keys, own.values.shape[2]),
        )
        self._prompt: int | None = None
        self._shared = 0
        """Up to here it holds the prompt's prefix."""

    def turn_to(self, cell: Stretch) -> None:
        """Hold this cell's."""
        if self._prompt != cell.prompt:
            self._prompt, self._shared = cell.prompt, 0
        if self._shared < cell.own and self._prefix is not None:
            self._put(self._prefix, cell.prompt + self._shared, self._shared, cell.own)
        self._put(self._own, cell.own_row, cell.own, cell.first + cell.count)
        self._shared = cell.own

    def _put(self, source: KeysValues, row: int, start: int, stop: int) -> None:
        """The source's rows from `row` on, as positions start … stop − 1."""
        rows = slice(row, row + stop - start)
        self.held.keys[:, start:stop] = source.keys[rows].transpose(0, 1)
        self.held.values[:, start:stop] = source.values[rows].transpose(0, 1)


def _attend_block(
    out: Tensor,
    rows: Tensor,
    held: KeysValues,
    some: Stretch,
    far: Far,
    style: Style,
    pattern: Pattern | None,
) -> None:
    """The queries of one cell in one block of positions."""
    heads, n_heads = rows.shape[1], held.keys.shape[0]
    group, count, mine = heads // n_heads, some.count, slice(some.row, some.row + some.count)
    q = rows[mine].reshape(count, n_heads, group, -1).transpose(0, 1)
    q = q.reshape(n_heads, count * group, -1) * style.scale
    slot = some.first % FAR_BLOCK
    n_keys, inside = some.first - slot + FAR_BLOCK, slice(slot * group, (slot + count) * group)
    mask = _mask(far, style.window, n_keys, group, rows.dtype)[inside]
    for head in range(n_heads):
        scores = style.capped(_times(q[head], held.keys[head, :n_keys], inside, group))
        scores[:, -mask.shape[1] :] += mask
        its = slice(head * group, (head + 1) * group)
        sinks = None if style.sinks is None else style.sinks[its].repeat(count)
        weights = softmax(scores, sinks).to(rows.dtype).contiguous()
        if pattern is not None:
            seen = weights.view(count, group, n_keys)
            pattern.pass_by_head(some.row, its.start, heads, seen)
        mixed = _times(weights, held.values[head, :n_keys].t(), inside, group)
        out[mine, its] = mixed.view(count, group, -1)


def _mask(far: Far, window: int | None, n_keys: int, group: int, dtype: torch.dtype) -> Tensor:
    """What to add to the last columns of a whole block's scores: [block × group, columns].

    Without a window only a block's own keys can be hidden from it.
    """
    key = (window, dtype, group, 0 if window is None else n_keys)
    if key not in far.masks:
        columns = FAR_BLOCK if window is None else n_keys
        position = torch.arange(n_keys - FAR_BLOCK, n_keys)[:, None]
        at = torch.arange(n_keys - columns, n_keys)[None, :]
        hidden = at > position
        if window is not None:
            hidden |= at <= position - window
        mask = torch.zeros(FAR_BLOCK, columns, dtype=dtype).masked_fill_(hidden, HIDDEN)
        far.masks[key] = mask.repeat_interleave(group, 0)
    return far.masks[key]


def _times(rows: Tensor, weight: Tensor, inside: slice, group: int) -> Tensor:
    """Rows · weightᵀ, with the same bits for a row whichever others are there.

    `inside` says which rows of a whole block they are.
    """
    if products.rows_are_free(rows):
        return products.product(rows, weight)
    after = FAR_BLOCK * group - inside.stop
    whole = F.pad(rows, (0, 0, inside.start, after))  # always one shape, so one kernel
    return torch.mm(whole, weight.t())[inside]
