"""Tiles: layers over time, and features of a layer over time. Extremes are never averaged away.

Both are added up from the sums of parts. Only columns finer than those sums (tokens of a stretch
that is short) come from the records, with one statement of SQL.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sonde.errors import BadRequest
from sonde.runs.analytics.analysis import RunContents
from sonde.runs.analytics.axis import Axis, axis
from sonde.runs.analytics.database import arrays
from sonde.runs.analytics.featuresums import OUTSIDE, FeatureSums, bin_columns, of_part, ranked
from sonde.runs.analytics.grid import Grid
from sonde.runs.analytics.parts import (
    BLOCK_TOKENS,
    FEATURE,
    LAYER,
    MEASURED,
    Part,
    indexed,
    table,
)
from sonde.schema.analytics import Measure, Ranking, Tile, Unit

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_ROWS = 256
MOST_CELLS = 2**16
NOTHING = "there are no records in this stretch"


def time_axis(
    known: RunContents,
    unit: Unit | None = None,
    start: int | None = None,
    end: int | None = None,
    *,
    columns: int = 256,
    level: int | None = None,
    step: int | None = None,
) -> Axis | None:
    """The axis that was asked for, or the whole run; None where there is nothing at all.

    Without a unit it is steps, or tokens where all records are of one step.
    """
    steps = known.steps()
    if steps is None:
        return None
    if unit is None:
        unit = "token" if step is not None or steps[0] == steps[1] else "step"
    if unit == "step":
        first, last = steps[0], steps[1] + 1
    else:
        step = steps[1] if step is None else step
        first, last = _tokens(known.parts, step)
    start = first if start is None else start
    return axis(
        unit,
        start,
        max(last, start + 1) if end is None else end,
        most=columns,
        level=level,
        step=step if unit == "token" else None,
    )


def layer_tile(
    known: RunContents, cursor: "DuckDBPyConnection", at: Axis | None, measure: Measure = "loss"
) -> Tile:
    """Layers over time."""
    layers = known.layers
    if at is None:
        return _tile(known, None, "layer", measure, layers, Grid.empty(0, 0), Grid.empty(0, 0))
    grid = Grid.empty(len(layers), at.columns)
    records = Grid.empty(len(layers), at.columns)
    for columns, rows in _layer_rows(known.parts, cursor, at):
        row = np.searchsorted(layers, rows["layer"])
        grid.add(row, columns, rows, f"{measure}_")
        _count(records, row, columns, rows["records"])
    return _tile(known, at, "layer", measure, layers, grid, records)


def feature_tile(
    known: RunContents,
    cursor: "DuckDBPyConnection",
    at: Axis | None,
    layer: int,
    *,
    features: Sequence[int] | None = None,
    by: Ranking = "sum",
    top: int = 64,
    skip: int = 0,
) -> Tile:
    """Features of a layer over time: those that were named, or the highest ranked in the tile."""
    if at is None:
        empty = Grid.empty(0, 0)
        return _tile(known, None, "feature", "activation", [], empty, empty, layer)
    _check_rows(at, top if features is None else len(features))
    sources = _feature_sums(known.parts, cursor, at, layer)
    if features is None:
        features = [int(name) for name in ranked(sources, by)[skip : skip + top]]
    features = list(dict.fromkeys(features))
    order = np.argsort(features)
    wanted = np.asarray(features, dtype=np.int64)[order]
    grid = Grid.empty(len(features), at.columns)
    for source in sources:
        names, columns, rows = source.of(wanted)
        grid.add(order[np.searchsorted(wanted, names)], columns, rows)
    records = Grid.empty(1, at.columns)
    for columns, rows in _layer_rows(known.parts, cursor, at):
        mine = rows["layer"] == layer
        _count(records, np.zeros(mine.sum(), np.int64), columns[mine], rows["records"][mine])
    return _tile(known, at, "feature", "activation", features, grid, records, layer)


def _check_rows(at: Axis, rows: int) -> None:
    limit = min(MOST_ROWS, MOST_CELLS // at.columns)
    if not 1 <= rows <= limit:
        raise BadRequest(
            f"{rows} features are not from 1 to {limit}, which is how many rows of {at.columns} "
            "columns can be shown; ask for fewer at a time"
        )


def _layer_rows(
    parts: Iterable[Part], cursor: "DuckDBPyConnection", at: Axis
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Columns, and rows of `LAYER`, part by part."""
    if at.fine:
        yield from _fine_layers(parts, cursor, at)
        return
    for part in parts:
        columns = bin_columns(part, at)[part.layers["bin"]]
        inside = columns != OUTSIDE
        yield columns[inside], part.layers[inside]


def _fine_layers(
    parts: Iterable[Part], cursor: "DuckDBPyConnection", at: Axis
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    if (records := _records(parts, at)) is None:
        return
    found = arrays(
        cursor,
        f"""
        SELECT layer, ((token_index >> {at.level}) - {at.first})::INTEGER AS bin,
               count(*) AS records, {MEASURED}
        FROM ({records}) GROUP BY layer, bin
        """,
    )
    rows = table(LAYER, found)
    yield rows["bin"].astype(np.int64), rows


def _feature_sums(
    parts: Iterable[Part], cursor: "DuckDBPyConnection", at: Axis, layer: int
) -> list[FeatureSums]:
    if not at.fine:
        sources = (of_part(part, layer, at) for part in parts)
        return [source for source in sources if source is not None]
    if (records := _records(parts, at)) is None:
        return []
    found = arrays(
        cursor,
        f"""
        SELECT feature, bin, count(*) AS count, sum(activation) AS sum, min(activation) AS low,
               max(activation) AS high
        FROM (
            SELECT ((token_index >> {at.level}) - {at.first})::INTEGER AS bin,
                   unnest(features) AS feature, unnest(activations) AS activation
            FROM ({records}) WHERE layer = $layer
        )
        WHERE feature IS NOT NULL AND activation IS NOT NULL
        GROUP BY feature, bin ORDER BY feature, bin
        """,
        {"layer": layer},
    )
    rows = table(FEATURE, found)
    spans, stored = indexed(np.full(len(rows), layer), found["feature"], rows)
    return [FeatureSums(span, stored, np.arange(at.columns)) for span in spans]


def _records(parts: Iterable[Part], at: Axis) -> str | None:
    """The statement for the records of a fine axis; None where no part can have any."""
    assert at.step is not None
    found = [part for part in parts if _has_tokens(part, at)]
    chosen = f"step = {at.step} AND token_index >= {at.start} AND token_index < {at.end}"
    each = (f"SELECT * FROM (SELECT * {part.records_from}) WHERE {chosen}" for part in found)
    return " UNION ALL ".join(each) or None


def _has_tokens(part: Part, at: Axis) -> bool:
    mine = part.bins["block"][part.bins["step"] == at.step]
    first, last = at.start // BLOCK_TOKENS, (at.end - 1) // BLOCK_TOKENS
    return bool(((mine >= first) & (mine <= last)).any())


def _tokens(parts: Sequence[Part], step: int) -> tuple[int, int]:
    """The first recorded token of a step, and the one after the last."""
    bins = np.concatenate([part.bins[part.bins["step"] == step] for part in parts])
    if not len(bins):
        every = np.concatenate([part.bins["step"] for part in parts])
        raise BadRequest(
            f"there are no records of step {step}; there are some of steps {every.min()} to "
            f"{every.max()}"
        )
    return int(bins["first"].min()), int(bins["last"].max()) + 1


def _count(grid: Grid, row: NDArray[Any], column: NDArray[Any], records: NDArray[Any]) -> None:
    np.add.at(grid.count, (row, column), records)


def _tile(
    known: RunContents,
    at: Axis | None,
    of: Literal["layer", "feature"],
    measure: Measure,
    rows: list[int],
    grid: Grid,
    records: Grid,
    layer: int | None = None,
) -> Tile:
    """Put a tile together."""
    return Tile(
        coverage=known.coverage,
        axis=of,
        measure=measure,
        layer=layer,
        unit=at.unit if at else "step",
        step=at.step if at else None,
        level=at.level if at else 0,
        start=at.start if at else 0,
        width=at.width if at else 1,
        columns=at.columns if at else 0,
        rows=rows,
        records=records.count.tolist(),
        reason=None if grid.count.any() else NOTHING,
        **grid.cells(),
    )
