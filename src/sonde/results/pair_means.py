"""A table over pairs as one of means: of `recovered` the ratio of means, never a mean of ratios."""

from collections.abc import Sequence

import numpy as np

from sonde.results.views import TableView, Values
from sonde.schema.table import Axis, SweepTable, Table, TableMetric


def array_of(table: Table, metric: TableMetric) -> Values:
    """A metric over the axes of a table; NaN where there is no number."""
    return TableView.of(table, metric).values


def numbers_of(ends: Sequence[tuple[float | None, float | None]]) -> list[tuple[float, float]]:
    """NaN where there is none."""
    return [(np.nan if a is None else a, np.nan if b is None else b) for a, b in ends]


def over_pairs(found: SweepTable) -> SweepTable:
    """The same without its pairs: every cell the mean over them."""
    records = found.pairs or []
    ends = [(r.clean.get("recovered"), r.corrupt.get("recovered")) for r in records]
    gaps = np.array([one - zero for one, zero in numbers_of(ends)])
    tables = []
    for table in found.tables:
        axes: list[Axis] = [axis for axis in table.axes if axis.name != "pair"]
        values = {
            metric: _mean(array_of(table, metric), gaps if metric == "recovered" else None)
            for metric in table.values
        }
        tables.append(table.model_copy(update={"axes": axes, "values": values}))
    update = {"tables": tables, "pairs": None, "dropped": None}
    return SweepTable.model_construct(
        **{name: getattr(found, name) for name in SweepTable.model_fields} | update
    )


def _mean(values: Values, weights: Values | None) -> list[float | None]:
    """Over the first axis, of what there is; None where there is nothing."""
    flat = values.reshape(len(values), -1)
    weight = np.ones(len(flat)) if weights is None else weights
    there = ~np.isnan(flat)
    total = (np.where(there, flat, 0.0) * weight[:, None]).sum(axis=0)
    share = (there * weight[:, None]).sum(axis=0)
    return [a / b if b else None for a, b in zip(total.tolist(), share.tolist(), strict=True)]
