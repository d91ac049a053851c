"""Sums of some records: by layer and time, and by feature and time, with their extremes.

A *part* is a stretch of a run's records that was summed up once. Time is cut into bins: a step, or
16,384 tokens of one where a step has more (runs that do not count steps have all their records in
step 0). Sums by feature lie sorted by layer, feature and bin, with an index of where each feature
begins, so that a feature's history is one short slice of each part. Scanning Parquet for it took
thirty times as long.

In memory or on disk, a part is the same. Where its records are is a clause of SQL.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sonde.runs.analytics.database import arrays
from sonde.runs.analytics.stored import InMemory, Rows, Stored

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

BLOCK_BITS = 14
BLOCK_TOKENS = 2**BLOCK_BITS

BIN = np.dtype([("step", "<i8"), ("block", "<i8"), ("first", "<i8"), ("last", "<i8")])
"""`first` and `last` are token indices."""
LAYER = np.dtype(
    [("layer", "<i4"), ("bin", "<i4"), ("records", "<i8")]
    + [
        (f"{measure}_{what}", kind)
        for measure in ("loss", "activation", "active")
        for what, kind in (("count", "<i8"), ("sum", "<f8"), ("low", "<f8"), ("high", "<f8"))
    ]
)
FEATURE = np.dtype(
    [("bin", "<u4"), ("count", "<u4"), ("sum", "<f8"), ("low", "<f8"), ("high", "<f8")]
)
SPAN = np.dtype(
    [("layer", "<i4"), ("first", "<i8"), ("end", "<i8"), ("row", "<i8"), ("stop", "<i8")]
)
"""A layer's entries of the index, and its rows."""

TYPES = {
    "rows": FEATURE,
    "feature": np.dtype("<i4"),
    "start": np.dtype("<i8"),
    "count": np.dtype("<i8"),
    "sum": np.dtype("<f8"),
    "high": np.dtype("<f8"),
}
"""What is stored by feature: its rows, and the index, which has one entry a layer and feature, in
that order: where its rows begin, and what they add up to."""


@dataclass(frozen=True)
class Part:
    """Some records, summed up."""

    records_from: str
    """`FROM ...`: the records themselves."""
    bins: Rows
    layers: Rows
    spans: Rows
    stored: Stored

    @cached_property
    def records(self) -> int:
        """How many there are."""
        return int(self.layers["records"].sum())

    @cached_property
    def first_step(self) -> int:
        """The least step."""
        return int(self.bins["step"].min())

    @cached_property
    def last_step(self) -> int:
        """The greatest step."""
        return int(self.bins["step"].max())

    def span(self, layer: int) -> Rows | None:
        """Where a layer's features are; None where it has none."""
        found = self.spans[self.spans["layer"] == layer]
        return found[0] if len(found) else None


def sum_up(connection: "DuckDBPyConnection", records_from: str) -> Part:
    """Sum up the records of a clause such as `FROM tail WHERE ...`; there must be some."""
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE bins AS
        SELECT (row_number() OVER (ORDER BY step, block) - 1)::INTEGER AS bin, *
        FROM (
            SELECT step, token_index // {BLOCK_TOKENS} AS block, min(token_index) AS first,
                   max(token_index) AS last
            {records_from} GROUP BY step, block
        )
    """)
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE binned AS
        SELECT layer, bin, features, activations, loss
        FROM (SELECT *, token_index // {BLOCK_TOKENS} AS block {records_from})
        JOIN bins USING (step, block)
    """)
    layers = arrays(connection, _LAYERS)
    features = arrays(connection, _FEATURES)
    bins = arrays(connection, "SELECT * FROM bins ORDER BY bin")
    connection.execute("DROP TABLE binned")
    rows = table(FEATURE, features)
    stored = indexed(features["layer"], features["feature"], rows)
    return Part(records_from, table(BIN, bins), table(LAYER, layers), *stored)


def table(dtype: np.dtype[Any], columns: dict[str, Any]) -> Rows:
    """Columns of a result as rows; a sum of nothing is 0, an extreme of nothing NaN."""
    assert dtype.names is not None
    rows: Rows = np.zeros(len(columns[dtype.names[0]]), dtype)
    for name in dtype.names:
        column = columns[name]
        if np.ma.isMaskedArray(column):
            column = column.filled(0.0 if name.endswith("sum") else np.nan)
        rows[name] = column
    return rows


def indexed(layers: NDArray[Any], features: NDArray[Any], rows: Rows) -> tuple[Rows, InMemory]:
    """Rows by layer and feature, with their index. -> rows of `SPAN`, and arrays of `TYPES`"""
    if not len(rows):
        return np.zeros(0, SPAN), InMemory({name: np.zeros(0, TYPES[name]) for name in TYPES})
    changed = (layers[1:] != layers[:-1]) | (features[1:] != features[:-1])
    starts = np.flatnonzero(np.r_[True, changed])
    columns = {
        "rows": rows,
        "feature": features[starts],
        "start": starts,
        "count": np.add.reduceat(rows["count"].astype(np.int64), starts),
        "sum": np.add.reduceat(rows["sum"], starts),
        "high": np.maximum.reduceat(rows["high"], starts),
    }
    names, first = np.unique(layers[starts], return_index=True)
    spans: Rows = np.zeros(len(names), SPAN)
    spans["layer"], spans["first"], spans["row"] = names, first, starts[first]
    spans["end"] = np.append(first, len(starts))[1:]
    spans["stop"] = np.append(spans["row"], len(rows))[1:]
    return spans, InMemory(columns)


def _measured(name: str, value: str) -> str:
    return (
        f"count({value}) AS {name}_count, sum({value}) AS {name}_sum, "
        f"min({value}) AS {name}_low, max({value}) AS {name}_high"
    )


MEASURED = ", ".join(
    (
        _measured("loss", "loss"),
        _measured("activation", "list_max(activations)"),
        _measured("active", "len(features)::DOUBLE"),
    )
)
"""What is known of a group of records, as columns of `LAYER`."""

_LAYERS = f"""
    SELECT layer, bin, count(*) AS records, {MEASURED}
    FROM binned GROUP BY layer, bin ORDER BY layer, bin
"""

_FEATURES = """
    SELECT layer, feature, bin, count(*) AS count, sum(activation) AS sum,
           min(activation) AS low, max(activation) AS high
    FROM (
        SELECT layer, bin, unnest(features) AS feature, unnest(activations) AS activation
        FROM binned
    )
    WHERE feature IS NOT NULL AND activation IS NOT NULL
    GROUP BY layer, feature, bin ORDER BY layer, feature, bin
"""
