"""A finished sweep over the checkpoints of a run: what became of each site while it trained.

Every checkpoint has a zero of its own, so what is drawn are changes from it: a step × layer (or
head, or feature) picture, whose cells are the strongest change over what is not drawn, hatched
where they are within that step's own noise floor. The table of everything stays beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sonde.results.classic import untagged
from sonde.results.numbers import number
from sonde.results.provenance import Provenance
from sonde.results.sweep import Sweep
from sonde.results.views import TableView, Values
from sonde.schema import Hook
from sonde.schema.table import Axis, CheckpointRecord, SweepTable, Table, TableMetric

EVERYWHERE = "everywhere"
MOST = 40
"""Heads or features along a picture; of more, those that ever do most."""


@dataclass(frozen=True, repr=False)
class CheckpointSweep(Sweep):
    """What writing at each site did to the behaviour, at every checkpoint.

    result.grids["post_block"]       # [checkpoints, layers]: the strongest change over positions
    result.each["post_block"]        # [checkpoints, layers, positions]: every value
    result.steps                     # the steps of the rows
    result.at(20)                    # the ordinary sweep of one checkpoint
    result.records[0].noise_floor    # what its cells are read against
    """

    all_steps: SweepTable | None = None

    @classmethod
    def over(cls, found: SweepTable, provenance: Provenance) -> Self:
        """The result of a sweep over checkpoints."""
        return cls(drawn(found), provenance, all_steps=untagged(SweepTable, found))

    @property
    def whole(self) -> SweepTable:
        """The table of all checkpoints and all cells."""
        assert self.all_steps is not None
        return self.all_steps

    @property
    def stored(self) -> SweepTable:
        """All of it; pictures are made of that again."""
        return self.whole

    @property
    def records(self) -> list[CheckpointRecord]:
        """What the cells of each checkpoint are read against."""
        return self.whole.checkpoints or []

    @property
    def steps(self) -> list[int]:
        """After which steps the checkpoints were saved."""
        return [record.step for record in self.records]

    @property
    def baseline(self) -> float | None:
        """Changes are drawn, so nothing is 0."""
        return 0.0

    @cached_property
    def each(self) -> dict[Hook, Values]:
        """Every value of the main metric, the first dimension checkpoints."""
        cells = [table for table in self.whole.tables if table.kind == "cells"]
        return {table.hook: TableView.of(table, self.metric).values for table in cells}

    def at(self, step: int) -> Sweep:
        """The ordinary sweep of one checkpoint."""
        return Sweep(alone(self.whole, self.steps.index(step)), self.provenance)

    @cached_property
    def doubts(self) -> list[NDArray[np.bool_]]:
        """Of every picture, the cells within their own step's noise floor."""
        floors = [record.noise_floor.get(self.metric) or 0.0 for record in self.records]
        out = []
        for view in self.views:
            per_row = np.array(floors)[:, None]
            out.append((per_row > 0) & (np.abs(view.picture) <= per_row))
        return out

    @property
    def doubt(self) -> str:
        """What a hatched cell is."""
        return "within the noise floor of its step"

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Each checkpoint: its weights, its own zero, its noise floor."""
        told = [("drawn", "the strongest change from each checkpoint's own unpatched prompt")]
        for record in self.records:
            zero, floor = (each.get(self.metric) for each in (record.corrupt, record.noise_floor))
            text = f"{number(zero)} unpatched, noise floor {number(floor)}, {record.weights}"
            told.append((f"step {record.step}", text))
        return told

    def encoded(self, format: str) -> bytes:
        """The bytes of a file; tables have every cell of every checkpoint."""
        if format in ("csv", "parquet"):
            return Sweep(self.whole, self.provenance).encoded(format)
        return super().encoded(format)


def alone(found: SweepTable, index: int) -> SweepTable:
    """One checkpoint's table, as its own sweep would have it."""
    record = (found.checkpoints or [])[index]
    n = len(found.checkpoints or [])

    def part(table: Table) -> Table:
        active = table.activations
        size = len(next(iter(table.values.values()))) // n
        here = slice(index * size, (index + 1) * size)
        return table.model_copy(
            update={
                "axes": table.axes[1:],
                "values": {metric: values[here] for metric, values in table.values.items()},
                "activations": None if active is None else active[here],
            }
        )

    update = {
        "tables": [part(table) for table in found.tables],
        "checkpoints": None,
        **{
            name: getattr(record, name)
            for name in ("corrupt", "clean", "noise_floor", "controls", "skipped", "timing")
        },
    }
    return SweepTable.model_construct(
        **{name: getattr(found, name) for name in SweepTable.model_fields} | update
    )


def drawn(found: SweepTable) -> SweepTable:
    """Checkpoints by layer, head or feature: the strongest change over everything else."""
    cells = [table for table in found.tables if table.kind == "cells"]
    update = {"tables": [_reduced(found, table) for table in cells], "checkpoints": None}
    return SweepTable.model_construct(
        **{name: getattr(found, name) for name in SweepTable.model_fields} | update
    )


def _reduced(found: SweepTable, table: Table) -> Table:
    values = {m: _changes(found, table, m) for m in table.values}
    kept = [axis for axis in table.axes[1:] if axis.name not in ("position", "role")]
    column = _joined(kept)
    strongest = np.nanmax(np.abs(np.nan_to_num(values[found.metric])), axis=0)
    order = np.arange(len(strongest))
    if len(order) > MOST:
        order = np.sort(np.argsort(-strongest, kind="stable")[:MOST])
    axis = Axis(
        name=column.name,
        values=[column.values[i] for i in order],
        labels=[column.labels[i] for i in order],
    )
    told = {
        m: [None if np.isnan(v) else float(v) for v in grid[:, order].ravel()]
        for m, grid in values.items()
    }
    return Table(hook=table.hook, axes=[table.axes[0], axis], values=told)


def _changes(found: SweepTable, table: Table, metric: TableMetric) -> Values:
    """[checkpoints, places]: of all positions the change farthest from 0, with its sign.

    Of features, that of changing one everywhere.
    """
    values = TableView.of(table, metric).values
    zeros = [0.0 if metric == "recovered" else r.corrupt[metric] for r in found.checkpoints or []]
    zero = np.array([np.nan if z is None else z for z in zeros], dtype=np.float64)
    changes = values - zero.reshape(-1, *[1] * (values.ndim - 1))
    last = table.axes[-1]
    if last.name in ("position", "role"):
        if last.values[-1] == EVERYWHERE:
            changes = changes[..., -1]
        else:
            size = np.where(np.isnan(changes), -1.0, np.abs(changes))
            best = size.argmax(axis=-1)[..., None]
            changes = np.take_along_axis(changes, best, axis=-1)[..., 0]
    flat: Values = changes.reshape(len(values), -1)
    return flat


def _joined(axes: list[Axis]) -> Axis:
    """Several axes as one: layer and head as `9.6`."""
    if not axes:
        return Axis(name="position", values=["together"], labels=["together"])
    out = axes[0]
    for axis in axes[1:]:
        pairs = [(a, b) for a in out.labels for b in axis.labels]
        names = [f"{a}.{b}" for a, b in pairs]
        out = Axis(name=axis.name, values=list(names), labels=names)
    return out
