"""Recompute only what a patch can change: all cells together, layer by layer.

A patch at (layer l, position p) of a causal model leaves every layer below l, and every position
before p, exactly as in the unpatched run. So:

1. **Place**   each patch where it acts: on the residual entering a layer, or inside a layer.
2. **Enter**   each cell at its own layer with the suffix p … T−1 of the unpatched residual.
3. **Advance** all active suffixes, packed into one [rows, width] batch, by the model's own layer.
4. **Finish**  the last layer for the last position alone; only its keys need the other rows.

A patch after a layer's attention changes that layer's output at its own position only, so at its
entry layer such a cell is a single row, whose attention is the unpatched run's; its suffix enters
one layer up. Patches of what attention computes with (queries, keys, values, weights) are made by
the attention function, in the rows of the suffix itself.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache

import numpy as np
import torch
from torch import Tensor

from sonde.backends import giving_up
from sonde.backends.torch.gpu.graphs import Launch, launch_now
from sonde.backends.torch.hooking import first_tensor
from sonde.backends.torch.layout import LayerSites, Layout
from sonde.backends.torch.packed.cells import Ints, PackedCell, PlacedWrite, Sources, Spread
from sonde.backends.torch.packed.plan import KeysKnown, KeysValues, Queries, RowPlan, using
from sonde.backends.torch.packed.rows import RowShape, filled_up
from sonde.backends.torch.packed.schedule import Schedule, in_order
from sonde.backends.torch.packed.trace import LayerCall, Trace
from sonde.backends.torch.packed.writes import Due, Writes, applied
from sonde.schema import HOOK_TABLE, Hook

LayerFunction = Callable[..., object]
Edit = tuple[int, PlacedWrite]
Where = Callable[[Ints, Ints], Ints]
"""Cells and positions -> their rows in a call."""
Writing = Callable[[LayerSites, dict[Hook, Writes]], AbstractContextManager[None]]
"""`applied`; or `due`, where the layers have ports already."""


class PackedRun:
    """One chunk of cells, ready to go."""

    def __init__(
        self,
        layout: Layout,
        trace: Trace,
        cells: Sequence[PackedCell],
        sources: Sources,
        shape: RowShape,
        compiled: Sequence[LayerFunction] | None = None,
        writing: Writing = applied,
        launch: Launch = launch_now,
    ) -> None:
        """Results come in the order of `self.cells`."""
        self.cells = in_order(cells)
        self._given = trace, sources
        # Which rows of a block a pattern goes to is asked of the device, which a capture cannot.
        insides = {p.inside for cell in cells for p in cell.patches}
        asks = any(i is not None and HOOK_TABLE[i].wide == "prompt" for i in insides)
        self._launch = launch_now if asks else launch
        self._compute = _way(layout, self.cells, trace.lengths, shape, compiled, writing)

    def final(self) -> Tensor:
        """What is read of each cell, after the last layer: [reads, width], cell by cell."""
        trace, _ = self._given
        # Without the caller's row numbers, chunks that differ only in them share a captured launch.
        places = tuple([tuple(c[1:]) for c in self.cells])
        return self._launch((places, trace.lengths), self._given, self._compute)


def _way(
    layout: Layout,
    cells: Sequence[PackedCell],
    lengths: Sequence[int],
    shape: RowShape,
    compiled: Sequence[LayerFunction] | None,
    writing: Writing,
) -> Callable[[tuple[Trace, Sources]], Tensor]:
    """From an unpatched run and what is written into it to the last residual of each cell."""

    @cache
    def schedule(device: torch.device) -> Schedule:
        return Schedule(cells, lengths, len(layout.sites), device)

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
        """What is read of each cell in order, after the last layer: [reads, width]."""
        out, last = self._trace.residuals[0, :0], self._schedule.n_layers - 1
        for layer in range(self._schedule.first_layer, last):
            giving_up.check()
            rows = self._enter(layer, out)
            out = self._advance(layer, rows)
        rows = self._enter(last, out)
        if any(cell.reads for cell in self._schedule.cells):
            return self._read(self._advance(last, rows) if len(rows) else rows)
        return self._finish(rows)

    def _entered(self) -> Writes:
        """What patches make of rows as they enter: all of it at once, where nothing came before."""
        edits, residuals = self._schedule.entry_rows, self._trace.residuals
        unpatched = self._schedule.trace_rows(edits.cells, edits.positions)
        places = self._schedule.entry_layers * residuals.shape[1] + unpatched
        values = residuals.flatten(0, 1).index_select(0, self._index(places))
        if len(places):
            self._to(np.arange(len(places)), edits).apply(values)
        rows = self._segments.rows_of_positions(edits.cells, edits.positions)
        return Writes(self._index(rows), values, None)

    def _enter(self, layer: int, out: Tensor) -> Tensor:
        """The batch entering `layer`: what was active, what joins, and rows computed alone."""
        before, n_cells = self._schedule.active(layer - 1), self._schedule.active(layer)
        n_before, n_rows = self._segments.rows_of(before), self._segments.rows_of(n_cells)
        joined_alone, alone = self._schedule.alone(layer - 1), self._schedule.alone(layer)
        entering = self._trace.residuals[layer]
        n_given = n_rows + len(alone)
        rows = entering.new_empty(self._shape.padded(n_given), entering.shape[-1])
        rows[n_given:] = 0  # padding is computed like the rest: the same in every run
        rows[:n_before] = out[:n_before]  # the first rows, as cells are in order of joining
        torch.index_select(
            entering, 0, self._segments.trace_rows[n_before:n_rows], out=rows[n_before:n_rows]
        )
        if joined_alone:  # each row takes its place in the suffix, which has joined by now
            back = [self._segments.row(cell, position) for cell, position in joined_alone]
            computed = out[n_before : n_before + len(joined_alone)]
            rows.index_copy_(0, self._index(back), computed)
        entries = self._schedule.entries(layer)
        if entries.start < entries.stop:
            rows.index_copy_(0, self._entry.rows[entries], self._entry.values[entries])
        edits = self._schedule.entering(layer)
        if edits:
            each = Spread.of(edits)
            where = self._segments.rows_of_positions(each.cells, each.positions)
            self._to(where, each).apply(rows)
        if alone:
            taken = entering.index_select(0, self._trace_rows(alone))
            rows[n_rows : n_rows + len(alone)] = taken
        return rows

    def _advance(self, layer: int, rows: Tensor) -> Tensor:
        """One layer, all rows. -> [rows, width]."""
        n_cells = self._schedule.active(layer)
        n_rows = self._segments.rows_of(n_cells)
        inside, alone = self._schedule.inside(layer), self._schedule.alone(layer)
        apart = {place: k for k, place in enumerate(alone)}
        joined = [c for c, _ in inside if c < n_cells]
        blocks = self._segments.blocks(n_cells)
        in_function = all([patch.in_function for _, patch in inside])
        if self._compiled is None or joined or not alone or in_function:
            plan = self._plan(layer, blocks, n_rows, n_rows)
            self._restore(plan, layer, {c: self._segments.rows_at(c) for c in joined})
            where = self._suffix_or(n_cells, apart, n_rows)
            return self._call(layer, rows, n_rows, plan, self._writes(layer, where))
        # Compiled layers cannot be hooked: what changes inside the layer goes through it by itself.
        parts = []
        if n_rows:
            plan = RowPlan(self._layer_of, blocks, n_rows, self._trace.keys_values)
            whole = rows[: self._shape.padded(n_rows)]
            parts.append(self._call(layer, whole, n_rows, plan, {}, with_alone=False))
        few = rows.new_zeros(self._shape.padded(len(apart)), rows.shape[-1])
        few[: len(apart)] = rows[n_rows : n_rows + len(apart)]
        plan = self._plan(layer, [], 0, 0)
        where = self._suffix_or(0, apart, 0)
        parts.append(self._call(layer, few, 0, plan, self._writes(layer, where)))
        return torch.cat(parts)

    def _suffix_or(self, n_cells: int, apart: Mapping[tuple[int, int], int], base: int) -> Where:
        """Rows of the first cells' suffixes; of others, those computed alone, from `base` on."""

        def where(cells: Ints, positions: Ints) -> Ints:
            rows = np.zeros(len(cells), dtype=np.int64)
            suffix = cells < n_cells
            rows[suffix] = self._segments.rows_of_positions(cells[suffix], positions[suffix])
            places = zip(cells[~suffix].tolist(), positions[~suffix].tolist(), strict=True)
            rows[~suffix] = [base + apart[place] for place in places]
            return rows

        return where

    def _finish(self, rows: Tensor) -> Tensor:
        """The last layer, for the last position of every cell. -> [cells, width]."""
        n_layers = self._schedule.n_layers
        layer, n_cells = n_layers - 1, self._schedule.active(n_layers - 1)
        n_rows = self._segments.rows_of(n_cells)
        alone = self._schedule.alone(layer)
        n_made = n_cells + len(alone)  # only these go all through the layer: no others are read
        keys = self._last_keys(rows[: self._shape.padded(n_rows)], n_rows) if n_cells else {}
        picked = [*self._segments.last_rows(n_cells), *range(n_rows, n_rows + len(alone))]
        batch = rows.new_zeros(self._shape.padded(n_made), rows.shape[-1])
        batch[:n_made] = rows.index_select(0, self._index(picked))
        plan = self._plan(layer, self._schedule.last_blocks, n_cells, n_cells)
        plan.keys_from = keys or None
        made = {cell: n_cells + k for k, (cell, _) in enumerate(alone)}
        at = np.array([made.get(cell, cell) for cell in range(len(self._schedule.cells))])
        self._restore(plan, layer, {cell: range(cell, cell + 1) for cell in range(n_cells)})
        ends = self._index(self._schedule.last_trace_rows())
        out = rows.new_empty(len(self._schedule.cells), rows.shape[-1])
        if n_made:
            call = self._trace.calls[layer].at(
                lambda table: filled_up(table.index_select(0, ends[:n_made]), batch.shape[0]),
                self._trace.n_rows,
            )
            writes = self._writes(layer, lambda cells, _: at[cells], keys=False)
            out[:n_made] = self._run(layer, batch, call, plan, writes)[:n_made]
        # Cells that join after the last layer, where only what leaves it is written.
        out[n_made:] = self._trace.residuals[n_layers].index_select(0, ends[n_made:])
        edits = self._schedule.entering(n_layers)
        if edits:
            each = Spread.of(edits)
            self._to(each.cells, each).apply(out)
        return out

    def _read(self, out: Tensor) -> Tensor:
        """Several positions of each cell, from all rows of the last layer: [reads, width]."""
        n_layers = self._schedule.n_layers
        n_cells = self._schedule.active(n_layers - 1)
        n_rows = self._segments.rows_of(n_cells)
        alone = {place: n_rows + k for k, place in enumerate(self._schedule.alone(n_layers - 1))}
        rows: dict[tuple[int, int], int] = {}
        for number, cell in enumerate(self._schedule.cells):
            for position in cell.reads or (self._schedule.last(number),):
                at = len(out) + self._schedule.trace_row(number, position)  # as if never patched
                if number < n_cells and position >= cell.first:
                    at = self._segments.row(number, position)
                rows[number, position] = alone.get((number, position), at)
        table = torch.cat([out, self._trace.residuals[n_layers]])
        read = table.index_select(0, self._index(list(rows.values())))
        edits = self._schedule.entering(n_layers)
        if edits:
            order, each = {place: i for i, place in enumerate(rows)}, Spread.of(edits)
            places = zip(each.cells.tolist(), each.positions.tolist(), strict=True)
            self._to(np.array([order[place] for place in places]), each).apply(read)
        return read

    def _last_keys(self, rows: Tensor, n_rows: int) -> dict[int, KeysValues]:
        """Keys and values of the last layer, leaving it as soon as they are known."""
        layer = self._schedule.n_layers - 1
        plan = RowPlan(self._layer_of, [], n_rows, self._trace.keys_values, only_keys=True)
        writes = self._writes(layer, self._segments.rows_of_positions, keys=True)
        try:
            self._call(layer, rows, n_rows, plan, writes, with_alone=False)
        except KeysKnown:
            assert plan.due is None or not plan.due.missing, "keys are known once they are written"
            return plan.recorded
        raise AssertionError("the layer did not call its attention function")

    def _plan(self, layer: int, blocks: list[Queries], n_rows: int, first: int) -> RowPlan:
        """Attention of `n_rows` rows, and of the rows computed alone, which start at `first`."""
        plan = RowPlan(self._layer_of, blocks, n_rows, self._trace.keys_values)
        alone = self._schedule.alone(layer)
        if alone:
            plan.fixed_rows = self._index(range(first, first + len(alone)))
            taken = self._trace_rows(alone)
            plan.fixed_outputs = {layer: self._trace.attention[layer].index_select(0, taken)}
        return plan

    def _writes(self, layer: int, where: Where, *, keys: bool | None = None) -> dict[Hook, Writes]:
        """What is written inside a layer, to the rows of cells and positions.

        At hooks of heads, to rows of [rows × heads]. With `keys`, only to keys and values, or only
        to everything else.
        """
        grouped: dict[Hook, list[Edit]] = defaultdict(list)
        for cell, patch in self._schedule.inside(layer):
            assert patch.inside is not None
            if keys is None or keys == patch.is_key:
                grouped[patch.inside].append((cell, patch))
        return {hook: self._written(hook, edits, where) for hook, edits in grouped.items()}

    def _written(self, hook: Hook, edits: Sequence[Edit], where: Where) -> Writes:
        each = Spread.of(edits)
        rows = where(each.cells, each.positions)
        if HOOK_TABLE[hook].per != "model":
            assert self._layout.heads is not None
            heads = np.array([patch.head for _, patch in edits], dtype=np.int64)
            rows = rows * self._layout.heads.count(hook) + heads[each.edits]
        return self._to(rows, each)

    def _restore(self, plan: RowPlan, layer: int, rows: Mapping[int, range]) -> None:
        """Heads that do not see a key or value written for others keep their unpatched outputs.

        `rows` are those of each cell in this call, the last of them its prompt's last. A cell whose
        writes have readers was never patched before this layer: nothing else can reach them.
        """
        of: dict[int, set[int]] = defaultdict(set)
        for cell, patch in self._schedule.inside(layer):
            of[cell].update(patch.readers or ())
        of = {cell: readers for cell, readers in of.items() if readers}
        if not of:
            return
        assert self._layout.heads is not None
        n, where, taken = self._layout.heads.heads, list[Ints](), list[Ints]()
        for cell, readers in of.items():
            others = np.array([head for head in range(n) if head not in readers], dtype=np.int64)
            first = self._schedule.trace_row(cell, self._schedule.last(cell)) + 1 - len(rows[cell])
            mine = np.arange(len(rows[cell]))[:, None]
            where.append(((rows[cell].start + mine) * n + others).ravel())
            taken.append(((first + mine) * n + others).ravel())
        unpatched = self._trace.attention[layer].view(len(self._trace.tokens) * n, -1)
        kept = unpatched.index_select(0, self._index(np.concatenate(taken)))
        plan.restored = self._index(np.concatenate(where)), kept

    def _to(self, rows: Ints, edits: Spread) -> Writes:
        """What patches write, to these rows."""
        return self._sources.to(self._index(rows), self._index(edits.sources))

    def _call(
        self,
        layer: int,
        rows: Tensor,
        n_rows: int,
        plan: RowPlan,
        writes: dict[Hook, Writes],
        *,
        with_alone: bool = True,
    ) -> Tensor:
        """Call a layer on the first `n_rows` packed rows, then those computed alone."""
        alone = self._schedule.alone(layer) if with_alone else []
        call = self._trace.calls[layer].at(
            lambda table: self._per_row(table, n_rows, alone, rows.shape[0]), self._trace.n_rows
        )
        return self._run(layer, rows, call, plan, writes)[: n_rows + len(alone)]

    def _run(
        self, layer: int, rows: Tensor, call: LayerCall, plan: RowPlan, writes: dict[Hook, Writes]
    ) -> Tensor:
        site = self._layout.sites[layer]
        on_modules = {h: w for h, w in writes.items() if HOOK_TABLE[h].attention is None}
        inner = {hook: made for hook, made in writes.items() if hook not in on_modules}
        plan.due = Due(inner) if inner else None
        compiled = self._compiled is not None and not on_modules and not plan.only_keys
        run = self._compiled[layer] if compiled and self._compiled is not None else site.layer
        plan.layer = layer
        with using(plan), self._writing(site, on_modules):
            out = first_tensor(run(rows.unsqueeze(0), *call.args, **call.kwargs))
        if plan.due is not None:
            plan.due.check()
        assert out is not None
        return out.view(-1, out.shape[-1])

    def _per_row(
        self, table: Tensor, n_rows: int, alone: Sequence[tuple[int, int]], total: int
    ) -> Tensor:
        """A per-position table, one entry per row of a padded batch; gathered once per chunk."""
        key = (table.data_ptr(), table.shape)  # layers are mostly called with the same tables
        if key not in self._tables:
            rows = self._segments.trace_rows
            spare = rows.new_zeros(self._shape.multiple)
            self._tables[key] = table.index_select(0, torch.cat([rows, spare]))
        full = self._tables[key]
        if not alone and n_rows:
            return full[:total]  # rows of a layer begin the packing; any row serves as padding
        rest = np.zeros(total - n_rows, dtype=np.int64)
        rest[: len(alone)] = self._alone_trace_rows(alone)
        return torch.cat([full[:n_rows], table.index_select(0, self._index(rest))])

    def _trace_rows(self, where: Sequence[tuple[int, int]]) -> Tensor:
        """The rows of the unpatched runs at (cell, position)."""
        return self._index(self._alone_trace_rows(where))

    def _alone_trace_rows(self, where: Sequence[tuple[int, int]]) -> Ints:
        cells, positions = np.array(where, dtype=np.int64).reshape(-1, 2).T
        return self._schedule.trace_rows(cells, positions)

    def _index(self, values: Sequence[int] | Ints) -> Tensor:
        return self._schedule.index(values)
