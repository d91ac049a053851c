"""What pictures show of a table too large to be looked at: where its strongest cells are.

All edges of a model are a hundred thousand squares. A picture has the senders and receivers of the
strongest ones; files for programs, and what is said of the numbers, have all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.results.edges import directly
from sonde.results.sweep import Sweep
from sonde.results.verified import verified
from sonde.results.views import EDGES, TableView
from sonde.schema.table import Axis, SweepTable, Table

SIDE = 60
"""Senders or receivers up to which a table is drawn whole."""
STRONGEST = 40
"""Edges whose senders and receivers are drawn, where there are more."""

Side = list[int]


@dataclass(frozen=True, repr=False)
class Excerpt(Sweep):
    """Some rows and columns of a sweep, with what is known of the whole.

    Of pairs it has means alone: an interval or a p of some cells would have been chosen by them.
    """

    larger: Sweep | None = None

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Those of the whole, and how much of it this is."""
        assert self.larger is not None
        [view], [whole] = self.views, self.larger.views
        drawn = " by ".join(f"{len(axis.values)} {axis.name}s" for axis in view.axes)
        n = int((~np.isnan(whole.values)).sum())
        said = f"where the {STRONGEST} strongest of {n:,} edges are: {drawn}; csv has all"
        known = verified(self.larger.verification, self.larger.table.tables)
        return [*directly(self.larger), *known, ("drawn", said)]


def excerpt(sweep: Sweep) -> Sweep:
    """The sweep itself; of a large table of edges, the part that pictures show."""
    if len(sweep.views) != 1 or sweep.views[0].name != EDGES:
        return sweep
    [view] = sweep.views
    if len(view.axes) != 2 or max(view.values.shape) <= SIDE:
        return sweep
    rows, columns = _chosen(view, sweep.baseline or 0.0)
    table = _part(sweep.table, rows, columns)
    return Excerpt(table, sweep.provenance, larger=sweep)


def _chosen(view: TableView, baseline: float) -> tuple[Side, Side]:
    """The rows and columns that the strongest edges are in."""
    changes = np.nan_to_num(np.abs(view.values - baseline), nan=-1.0).ravel()
    strongest = np.argsort(-changes, kind="stable")[:STRONGEST]
    rows, columns = np.unravel_index(strongest, view.values.shape)
    return np.unique(rows).tolist(), np.unique(columns).tolist()


def _part(found: SweepTable, rows: Side, columns: Side) -> SweepTable:
    tables = []
    for table in found.tables:
        shape = [len(axis.values) for axis in table.axes]
        keep = np.ix_(rows, columns)
        values = {
            metric: np.array(each, dtype=object).reshape(shape)[keep].ravel().tolist()
            for metric, each in table.values.items()
        }
        axes = [_axis(table.axes[0], rows), _axis(table.axes[1], columns)]
        tables.append(Table(kind=table.kind, hook=table.hook, axes=axes, values=values))
    return found.model_copy(update={"tables": tables})


def _axis(axis: Axis, chosen: Side) -> Axis:
    return Axis(
        name=axis.name,
        values=[axis.values[n] for n in chosen],
        labels=[axis.labels[n] for n in chosen],
    )
