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
from functools import cache

import torch
from torch import Tensor

from sonde.backends.torch.cells import CellPlan, Placed, Sources
from sonde.backends.torch.graphs import Launch, launch_now
from sonde.backends.torch.layout import LayerSites, Layout, first_tensor
from sonde.backends.torch.plan import (
    KeysKnown,
    KeysValues,
    Plan,
    QueryBlock,
    using,
)
from sonde.backends.torch.rows import RowShape
from sonde.backends.torch.schedule import Schedule, in_order
from sonde.backends.torch.trace import LayerCall, Trace
from sonde.backends.torch.writes import Writes, applied
from sonde.schema import Hook

LayerFunction = Callable[..., object]
Writing = Callable[[LayerSites, dict[Hook, Writes]], AbstractContextManager[None]]
"""`applied`; or `due`, where the layers have ports already."""


class PackedRun:
    """One chunk of cells, ready to go."""

    def __init__(
        self,
        layout: Layout,
        trace: Trace,
        cells: Sequence[CellPlan],
        sources: Sources,
        shape: RowShape,
        compiled: Sequence[LayerFunction] | None = None,
        writing: Writing = applied,
        launch: Launch = launch_now,
    ) -> None:
        """Results come in the order of `self.cells`."""
        self.cells = in_order(cells)
        self._given = trace, sources
        self._launch = launch
        self._compute = _way(layout, self.cells, len(trace.tokens), shape, compiled, writing)

    def final(self) -> Tensor:
        """The last position's residual after the last layer, per cell: [cells, width]."""
        places = tuple((c.patches, c.first, c.joins, c.alone) for c in self.cells)
        return self._launch(places, self._given, self._compute)


def _way(
    layout: Layout,
    cells: Sequence[CellPlan],
    n_tokens: int,
    shape: RowShape,
    compiled: Sequence[LayerFunction] | None,
    writing: Writing,
) -> Callable[[tuple[Trace, Sources]], Tensor]:
    """From an unpatched run and what is written into it to the last residual of each cell."""

    @cache
    def schedule(device: torch.device) -> Schedule:
        return Schedule(cells, n_tokens, len(layout.sites), device)

    def compute(given: tuple[Trace, Sources]) -> Tensor:
        trace, sources = given
        found = schedule(trace.residuals.device)
        return _Passage(layout, trace, found, sources, shape, compiled, writing).final()

    return compute


class _Passage:
    """A chunk's way through the layers, once."""

    def __init__(
        self,
        layout: Layout,
        trace: Trace,
        schedule: Schedule,
        sources: Sources,
        shape: RowShape,
        compiled: Sequence[LayerFunction] | None,
        writing: Writing,
    ) -> None:
        self._compiled, self._shape, self._writing = compiled, shape, writing
        self._layout, self._trace, self._sources = layout, trace, sources
        self._schedule, self._segments = schedule, schedule.segments
        self._layer_of = layout.layer_of
        self._tables: dict[tuple[int, torch.Size], Tensor] = {}
        self._entry = self._entered()

    def final(self) -> Tensor:
        """The last position's residual after the last layer, per cell in order: [cells, width]."""
        out, last = self._trace.residuals[0, :0], self._schedule.n_layers - 1
        for layer in range(self._schedule.first_layer, last):
            rows = self._enter(layer, out)
            out = self._advance(layer, rows)
        return self._finish(self._enter(last, out))

    def _entered(self) -> Writes:
        """What patches make of rows as they enter: all of it at once, where nothing came before."""
        edits = self._schedule.at_entry
        residuals = self._trace.residuals
        places = [patch.layer * residuals.shape[1] + patch.position for _, patch in edits]
        values = residuals.flatten(0, 1).index_select(0, self._index(places))
        if edits:
            self._to(range(len(edits)), edits).apply(values)
        rows = [self._segments.row(cell, patch.position) for cell, patch in edits]
        return Writes(self._index(rows), values, None)

    def _enter(self, layer: int, out: Tensor) -> Tensor:
        """The batch entering `layer`: what was active, what joins, and rows computed alone."""
        before, n_cells = self._schedule.active(layer - 1), self._schedule.active(layer)
        n_before, n_rows = self._segments.rows_of(before), self._segments.rows_of(n_cells)
        joined_alone, alone = self._schedule.alone(layer - 1), self._schedule.alone(layer)
        entering = self._trace.residuals[layer]
        n_given = n_rows + len(alone)
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
        entries = self._schedule.entries(layer)
        if entries.start < entries.stop:
            rows.index_copy_(0, self._entry.rows[entries], self._entry.values[entries])
        edits = self._schedule.entering(layer)
        if edits:
            self._to([self._segments.row(c, p.position) for c, p in edits], edits).apply(rows)
        if alone:
            taken = entering.index_select(0, self._index([p for _, p in alone]))
            rows[n_rows : n_rows + len(alone)] = taken
        return rows

    def _advance(self, layer: int, rows: Tensor) -> Tensor:
        """One layer, all rows. -> [rows, width]."""
        n_cells = self._schedule.active(layer)
        n_rows = self._segments.rows_of(n_cells)
        inside, alone = self._schedule.inside(layer), self._schedule.alone(layer)
        apart = {place: k for k, place in enumerate(alone)}
        joined = [(c, p) for c, p in inside if (c, p.position) not in apart]
        blocks = self._segments.blocks(n_cells)
        if self._compiled is None or joined or not alone:
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
        n_layers, last = self._schedule.n_layers, self._schedule.n_tokens - 1
        layer, n_cells = n_layers - 1, self._schedule.active(n_layers - 1)
        n_rows = self._segments.rows_of(n_cells)
        alone = self._schedule.alone(layer)
        n_made = n_cells + len(alone)
        keys = self._last_keys(rows[: self._shape.padded(n_rows)], n_rows) if n_cells else {}
        picked = [*self._segments.last_rows(n_cells), *range(n_rows, n_rows + len(alone))]
        batch = rows.new_zeros(self._shape.padded(n_made), rows.shape[-1])
        batch[:n_made] = rows.index_select(0, self._index(picked))
        blocks = [self._schedule.last_block] if n_cells else []
        plan = self._plan(layer, blocks, n_cells, n_cells)
        plan.keys_from = keys or None
        where = {(cell, last): n_cells + k for k, (cell, _) in enumerate(alone)}
        where |= {(cell, last): cell for cell in range(n_cells)}
        out = rows.new_empty(len(self._schedule.cells), rows.shape[-1])
        if n_made:
            call = self._trace.calls[layer].at(
                lambda table: table[last : last + 1].expand(batch.shape[0], *table.shape[1:]),
                self._trace.n_rows,
            )
            out[:n_made] = self._run(layer, batch, call, plan, self._writes(layer, where))[:n_made]
        out[n_made:] = self._trace.residuals[n_layers][last]
        edits = self._schedule.entering(n_layers)
        if edits:
            self._to([cell for cell, _ in edits], edits).apply(out)
        return out

    def _last_keys(self, rows: Tensor, n_rows: int) -> dict[int, KeysValues]:
        """Keys and values of the last layer, leaving it as soon as they are known."""
        layer = self._schedule.n_layers - 1
        plan = Plan(self._layer_of, [], n_rows, self._trace.keys_values, only_keys=True)
        try:
            self._call(layer, rows, n_rows, plan, {}, with_alone=False)
        except KeysKnown:
            return plan.recorded
        raise AssertionError("the layer did not call its attention function")

    def _plan(self, layer: int, blocks: list[QueryBlock], n_rows: int, first: int) -> Plan:
        """Attention of `n_rows` rows, and of the rows computed alone, which start at `first`."""
        plan = Plan(self._layer_of, blocks, n_rows, self._trace.keys_values)
        alone = self._schedule.alone(layer)
        if alone:
            plan.fixed_rows = self._index(range(first, first + len(alone)))
            taken = self._index([position for _, position in alone])
            plan.fixed_outputs = {layer: self._trace.attention[layer].index_select(0, taken)}
        return plan

    def _writes(self, layer: int, where: dict[tuple[int, int], int]) -> dict[Hook, Writes]:
        grouped: dict[Hook, list[tuple[int, Placed]]] = defaultdict(list)
        for cell, patch in self._schedule.inside(layer):
            assert patch.inside is not None
            grouped[patch.inside].append((cell, patch))
        return {
            hook: self._to([where[cell, patch.position] for cell, patch in edits], edits)
            for hook, edits in grouped.items()
        }

    def _to(self, rows: Sequence[int], edits: Sequence[tuple[int, Placed]]) -> Writes:
        """What patches write, to these rows."""
        sources = [patch.source for _, patch in edits]
        return self._sources.to(self._index(rows), self._index(sources))

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
        alone = [p for _, p in self._schedule.alone(layer)] if with_alone else []
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
        return self._schedule.index(values)
