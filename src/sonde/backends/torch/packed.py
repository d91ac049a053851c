"""Recompute only what a patch can change: all cells together, layer by layer.

A patch at (layer l, position p) of a causal model leaves every layer below l, and every position
before p, exactly as in the unpatched run. So:

1. **Place**   each patch where it acts: on the residual entering a layer, or inside a layer.
2. **Enter**   each cell at its own layer with the suffix p … T−1 of the unpatched residual.
3. **Advance** all active suffixes, packed into one [rows, width] batch, by the model's own layer.
4. **Finish**  the last layer for the last position alone; only its keys need the other rows.

A patch inside a layer changes that layer's output at its own position only, so at its entry layer
such a cell is a single row, whose attention is the unpatched run's; its suffix enters one layer up.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import numpy as np
import torch
from torch import Tensor

from sonde.backends.torch.attention import (
    KeysKnown,
    KeysValues,
    Plan,
    QueryBlock,
    block_size,
    using,
)
from sonde.backends.torch.cells import CellPlan, Placed, Sources
from sonde.backends.torch.layout import LayerSites, Layout, first_tensor
from sonde.backends.torch.rows import RowShape, index_tensor
from sonde.backends.torch.segments import Segments
from sonde.backends.torch.trace import LayerCall, Trace
from sonde.backends.torch.writes import Writes, applied
from sonde.schema import Hook

LayerFunction = Callable[..., object]
Writing = Callable[[LayerSites, dict[Hook, Writes]], AbstractContextManager[None]]
"""`applied`; or `due`, where the layers have ports already."""


class PackedRun:
    """One chunk of cells on its way through the layers."""

    def __init__(
        self,
        layout: Layout,
        trace: Trace,
        cells: Sequence[CellPlan],
        sources: Sources,
        shape: RowShape,
        compiled: Sequence[LayerFunction] | None = None,
        writing: Writing = applied,
    ) -> None:
        """`cells` come back in the order of `self.cells`."""
        self._compiled, self._shape, self._writing = compiled, shape, writing
        self.cells = sorted(cells, key=lambda cell: (cell.joins, not cell.alone))
        self._layout, self._trace, self._sources = layout, trace, sources
        self._n_tokens, self._n_layers = len(trace.tokens), len(layout.sites)
        self._device = trace.residuals.device
        self._layer_of = layout.layer_of()
        self._block = block_size(self._device, self._n_tokens)
        self._joins = np.array([cell.joins for cell in self.cells])
        n_active = self._active(self._n_layers - 1)
        self._segments = Segments(
            [cell.first for cell in self.cells[:n_active]], self._n_tokens,
            block=self._block, device=self._device,
        )  # fmt: skip
        self._tables: dict[tuple[int, torch.Size], Tensor] = {}
        self._alone: list[tuple[int, int]] = []  # (cell, position) of the rows computed alone
        self._alone_by_layer: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._by_layer: dict[int, list[tuple[int, Placed]]] = defaultdict(list)
        for index, cell in enumerate(self.cells):
            self._alone_by_layer[cell.joins - 1] += [(index, p) for p in cell.alone]
            for patch in cell.patches:
                self._by_layer[patch.layer].append((index, patch))

    def final(self) -> Tensor:
        """The last position's residual after the last layer, per cell: [cells, width]."""
        first = min(min(c.joins - bool(c.alone), self._n_layers) for c in self.cells)
        out = self._trace.residuals[0, :0]
        for layer in range(first, self._n_layers - 1):
            rows = self._enter(layer, out)
            out = self._advance(layer, rows)
        rows = self._enter(self._n_layers - 1, out)
        return self._finish(rows)

    def _active(self, layer: int) -> int:
        """How many cells have their suffix in the batch at `layer`."""
        return int(np.searchsorted(self._joins, layer, side="right"))

    def _enter(self, layer: int, out: Tensor) -> Tensor:
        """The batch entering `layer`: what was active, what joins, and rows computed alone."""
        before, n_cells = self._active(layer - 1), self._active(layer)
        n_before, n_rows = self._segments.rows_of(before), self._segments.rows_of(n_cells)
        joined_alone, self._alone = self._alone, self._alone_by_layer[layer]
        entering = self._trace.residuals[layer]
        n_given = n_rows + len(self._alone)
        rows = entering.new_empty(self._shape.padded(n_given), entering.shape[-1])
        rows[n_given:] = 0
        rows[:n_before] = out[:n_before]
        torch.index_select(
            entering, 0, self._segments.positions[n_before:n_rows], out=rows[n_before:n_rows]
        )
        if joined_alone:
            where = [self._segments.row(cell, position) for cell, position in joined_alone]
            computed = out[n_before : n_before + len(joined_alone)]
            rows.index_copy_(0, self._index(where), computed)
        self._write_entering(layer, rows)
        if self._alone:
            taken = entering.index_select(0, self._index([p for _, p in self._alone]))
            rows[n_rows : n_rows + len(self._alone)] = taken
        return rows

    def _write_entering(self, layer: int, rows: Tensor) -> None:
        edits = [(c, p) for c, p in self._by_layer[layer] if p.inside is None]
        if edits:
            where = [self._segments.row(cell, patch.position) for cell, patch in edits]
            self._sources.writes(where, [patch.source for _, patch in edits]).apply(rows)

    def _advance(self, layer: int, rows: Tensor) -> Tensor:
        """One layer, all rows. -> [rows, width]."""
        n_cells = self._active(layer)
        n_rows = self._segments.rows_of(n_cells)
        inside = [(c, p) for c, p in self._by_layer[layer] if p.inside is not None]
        apart = {(cell, position): k for k, (cell, position) in enumerate(self._alone)}
        joined = [(c, p) for c, p in inside if (c, p.position) not in apart]
        blocks = self._segments.blocks(n_cells)
        if self._compiled is None or joined or not self._alone:
            where = {place: n_rows + k for place, k in apart.items()}
            where |= {(c, p.position): self._segments.row(c, p.position) for c, p in joined}
            plan = self._plan(layer, blocks, n_rows, n_rows)
            return self._call(layer, rows, n_rows, plan, self._writes(layer, where))
        # Compiled layers cannot be hooked: what changes inside the layer goes through it by itself.
        parts = []
        if n_rows:
            plan = Plan(self._layer_of, blocks, n_rows, self._trace.keys_values)
            whole = rows[: self._shape.padded(n_rows)]
            parts.append(self._call(layer, whole, n_rows, plan, {}, with_alone=False))
        few = rows.new_zeros(self._shape.padded(len(apart)), rows.shape[-1])
        few[: len(apart)] = rows[n_rows : n_rows + len(apart)]
        plan = self._plan(layer, [], 0, 0)
        parts.append(self._call(layer, few, 0, plan, self._writes(layer, apart)))
        return torch.cat(parts)

    def _finish(self, rows: Tensor) -> Tensor:
        """The last layer, for the last position of every cell. -> [cells, width]."""
        layer, last = self._n_layers - 1, self._n_tokens - 1
        n_cells = self._active(layer)
        n_rows = self._segments.rows_of(n_cells)
        n_alone = len(self._alone)
        keys = self._last_keys(rows[: self._shape.padded(n_rows)], n_rows) if n_cells else {}
        picked = torch.cat([self._segments.last_rows(n_cells), self._range(n_rows, n_alone)])
        batch = rows.new_zeros(self._shape.padded(n_cells + n_alone), rows.shape[-1])
        batch[: n_cells + n_alone] = rows.index_select(0, picked)
        blocks = [self._segments.last_block(n_cells)] if n_cells else []
        plan = self._plan(layer, blocks, n_cells, n_cells)
        plan.keys_from = keys or None
        where = {(cell, last): n_cells + k for k, (cell, _) in enumerate(self._alone)}
        where |= {(cell, last): cell for cell in range(n_cells)}
        out = rows.new_empty(len(self.cells), rows.shape[-1])
        if n_cells + n_alone:
            call = self._trace.calls[layer].at(
                lambda table: table[last : last + 1].expand(batch.shape[0], *table.shape[1:]),
                self._trace.n_rows,
            )
            made = self._run(layer, batch, call, plan, self._writes(layer, where))
            out[: n_cells + n_alone] = made[: n_cells + n_alone]
        out[n_cells + n_alone :] = self._trace.residuals[self._n_layers][last]
        edits = self._by_layer[self._n_layers]
        if edits:
            self._sources.writes([c for c, _ in edits], [p.source for _, p in edits]).apply(out)
        return out

    def _last_keys(self, rows: Tensor, n_rows: int) -> dict[int, KeysValues]:
        """Keys and values of the last layer, leaving it as soon as they are known."""
        layer = self._n_layers - 1
        plan = Plan(self._layer_of, [], n_rows, self._trace.keys_values, only_keys=True)
        try:
            self._call(layer, rows, n_rows, plan, {}, with_alone=False)
        except KeysKnown:
            return plan.recorded
        raise AssertionError("the layer did not call its attention function")

    def _plan(self, layer: int, blocks: list[QueryBlock], n_rows: int, first: int) -> Plan:
        """Attention of `n_rows` rows, and of the rows computed alone, which start at `first`."""
        plan = Plan(self._layer_of, blocks, n_rows, self._trace.keys_values)
        if self._alone:
            plan.fixed_rows = self._range(first, len(self._alone))
            taken = self._index([position for _, position in self._alone])
            plan.fixed_outputs = {layer: self._trace.attention[layer].index_select(0, taken)}
        return plan

    def _writes(self, layer: int, where: dict[tuple[int, int], int]) -> dict[Hook, Writes]:
        grouped: dict[Hook, list[tuple[int, int]]] = defaultdict(list)
        for cell, patch in self._by_layer[layer]:
            if patch.inside is not None:
                grouped[patch.inside].append((where[cell, patch.position], patch.source))
        return {
            hook: self._sources.writes([row for row, _ in edits], [source for _, source in edits])
            for hook, edits in grouped.items()
        }

    def _call(
        self,
        layer: int,
        rows: Tensor,
        n_rows: int,
        plan: Plan,
        writes: dict[Hook, Writes],
        *,
        with_alone: bool = True,
    ) -> Tensor:
        """Call a layer on the first `n_rows` packed rows, then those computed alone."""
        alone = [position for _, position in self._alone] if with_alone else []
        call = self._trace.calls[layer].at(
            lambda table: self._per_row(table, n_rows, alone, rows.shape[0]), self._trace.n_rows
        )
        return self._run(layer, rows, call, plan, writes)[: n_rows + len(alone)]

    def _run(
        self, layer: int, rows: Tensor, call: LayerCall, plan: Plan, writes: dict[Hook, Writes]
    ) -> Tensor:
        site = self._layout.sites[layer]
        compiled = self._compiled is not None and not writes and not plan.only_keys
        run = self._compiled[layer] if compiled and self._compiled is not None else site.layer
        plan.layer = layer
        with using(plan), self._writing(site, writes):
            out = first_tensor(run(rows.unsqueeze(0), *call.args, **call.kwargs))
        assert out is not None
        return out.view(-1, out.shape[-1])

    def _per_row(self, table: Tensor, n_rows: int, alone: list[int], total: int) -> Tensor:
        """A per-position table, one entry per row of a padded batch; gathered once per chunk."""
        key = (table.data_ptr(), table.shape)
        if key not in self._tables:
            positions = self._segments.positions
            spare = positions.new_zeros(self._shape.multiple)
            self._tables[key] = table.index_select(0, torch.cat([positions, spare]))
        full = self._tables[key]
        if not alone and n_rows:
            return full[:total]
        rest = alone + [0] * (total - n_rows - len(alone))
        return torch.cat([full[:n_rows], table.index_select(0, self._index(rest))])

    def _index(self, values: Sequence[int]) -> Tensor:
        return index_tensor(values, self._device)

    def _range(self, start: int, count: int) -> Tensor:
        return torch.arange(start, start + count, device=self._device)
