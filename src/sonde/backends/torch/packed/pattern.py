"""What is done with attention weights between the softmax and the values: kept, and rewritten.

Fused attention never has its weights anywhere, so where they are seen or
written they are made by hand.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from sonde.backends.torch.packed.plan import QueryBlock, RowPlan
from sonde.backends.torch.packed.writes import Due, Writes


class Pattern(NamedTuple):
    """What is done with the weights of one layer call."""

    due: Due | None
    n_rows: int
    kept: Tensor | None
    """Where they are kept: [rows, heads, keys]."""

    @staticmethod
    def of(plan: RowPlan, layer: int, rows: Tensor) -> "Pattern | None":
        """None where they are neither written nor kept."""
        due = plan.due if plan.writes_to("pattern") else None
        if due is None and plan.patterns is None:
            return None
        kept = None
        if plan.patterns is not None:
            if layer not in plan.patterns:
                most = max(each.n_keys for each in plan.blocks)
                plan.patterns[layer] = rows.new_zeros(*rows.shape[:2], most)
            kept = plan.patterns[layer]
        return Pattern(due, rows.shape[0], kept)

    def pass_by(self, block: QueryBlock, weights: Tensor) -> None:
        """See and rewrite those of a block in place: [cells, heads, size, keys]."""
        heads, n_keys = weights.shape[1], weights.shape[3]
        flat, where = weights.view(-1, n_keys), block.outputs(heads)
        count = len(where) // heads
        mine = torch.arange(count, device=where.device) if (r := block.rows) is None else r
        if self.kept is not None:
            self.kept[mine, :, :n_keys] = flat.index_select(0, where).view(count, heads, n_keys)
        if self.due is not None:
            writes = self.due.writes["pattern"]
            # Which of the block's rows each write is to, if any: rows -> places in the block.
            place = mine.new_full((self.n_rows,), -1)
            place[mine] = torch.arange(count, device=mine.device)
            found = place[writes.rows // heads]
            chosen = (found >= 0).nonzero()[:, 0]
            rows = where.view(count, heads)[found[chosen], writes.rows[chosen] % heads]
            self._write(chosen, rows, flat)

    def pass_by_head(self, first: int, head: int, heads: int, weights: Tensor) -> None:
        """The same of consecutive rows from `first`, of query heads from `head`: [rows, n, keys].

        `heads` is how many query heads there are in all.
        """
        count, n, n_keys = weights.shape
        if self.kept is not None:
            self.kept[first : first + count, head : head + n, :n_keys] = weights
        if self.due is not None:
            rows = self.due.writes["pattern"].rows
            row, at = rows // heads - first, rows % heads - head
            chosen = ((row >= 0) & (row < count) & (at >= 0) & (at < n)).nonzero()[:, 0]
            self._write(chosen, row[chosen] * n + at[chosen], weights.view(-1, n_keys))

    def _write(self, chosen: Tensor, rows: Tensor, flat: Tensor) -> None:
        """Some of what is due, to these rows of [rows, keys]."""
        if len(chosen) and self.due is not None:
            some = self.due.writes["pattern"].of(chosen, rows)
            self.due.count("pattern", _padded_to(some, flat.shape[1]).apply(flat))


def _padded_to(writes: Writes, n_keys: int) -> Writes:
    """Weights for so many keys: none beyond those that the source had."""
    short = n_keys - writes.values.shape[1]
    if short <= 0:
        return writes
    weight = writes.weight
    if weight is not None and weight.shape[1] > 1:
        weight = F.pad(weight, (0, short))
    return Writes(writes.rows, F.pad(writes.values, (0, short)), weight, writes.adds)
