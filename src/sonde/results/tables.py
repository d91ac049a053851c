"""A result as data: JSON that reads back equal, CSV for whatever reads CSV.

Neither rounds, and neither shows tokens as labels: both hold the raw text. CSV is for programs; a
spreadsheet may take a token such as `=` for a formula.

Of JSON there are two forms. A classic sweep is written as its summary, as ever; any other as its
table. Both read back.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError

from sonde.errors import BadRequest
from sonde.results.provenance import Provenance
from sonde.results.views import Side, TableView
from sonde.schema import SweepSummary, Wire
from sonde.schema.table import AxisName, SweepTable, Table

if TYPE_CHECKING:
    from sonde.results.sweep import Sweep

Entry = int | str | float | None


class StoredSweep(Wire):
    """The JSON form of a classic result."""

    format: Literal["sonde.sweep.1"] = "sonde.sweep.1"
    summary: SweepSummary
    provenance: Provenance


class StoredTable(Wire):
    """The JSON form of any other."""

    format: Literal["sonde.sweep.2"] = "sonde.sweep.2"
    table: SweepTable
    provenance: Provenance


Stored = Annotated[StoredSweep | StoredTable, Field(discriminator="format")]
_STORED: TypeAdapter[StoredSweep | StoredTable] = TypeAdapter(Stored)


def to_json(sweep: Sweep) -> str:
    """What came out, and its provenance. Never NaN: a missing number is null."""
    stored: StoredSweep | StoredTable = (
        StoredTable(table=sweep.stored, provenance=sweep.provenance)
        if sweep.summary is None
        else StoredSweep(summary=sweep.summary, provenance=sweep.provenance)
    )
    return stored.model_dump_json(indent=1) + "\n"


def from_json(source: str | Path) -> StoredSweep | StoredTable:
    """Read what `to_json` wrote."""
    try:
        text = source.read_text(encoding="utf-8") if isinstance(source, Path) else source
        return _STORED.validate_json(text)
    except OSError as error:
        raise BadRequest(f"cannot read {str(source)!r}: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise BadRequest(
            f"not a sweep saved as JSON: {where}: {first['msg']}; pass the text that to_json() "
            "returned, or a Path to the file it wrote"
        ) from error


def to_csv(sweep: Sweep) -> str:
    """One line a cell, the main metric first, then the further ones; all text in quotes."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(columns(sweep))
    writer.writerows(rows(sweep))
    return text.getvalue()


def columns(sweep: Sweep) -> tuple[str, ...]:
    """The names of the columns: hook, layer, position, token, metric, value, for a classic sweep.

    An axis has a column, and one more where its labels say more than its values. Tables that are
    not of the cells asked for are told apart by their kind.
    """
    kind = ["kind"] if any(table.kind != "cells" for table in sweep.table.tables) else []
    middle = [name for axis, words in _axes(sweep).items() for name in (axis, words) if name]
    return (*kind, "hook", *middle, "metric", "value")


def rows(sweep: Sweep) -> Iterator[tuple[Entry, ...]]:
    """The cells under `columns`, metric by metric, table by table."""
    axes, names = _axes(sweep), columns(sweep)
    for metric in sweep.metrics:
        for table in sweep.table.tables:
            if metric not in table.values:
                continue
            view = TableView.of(table, metric)
            places = Side(view.axes).places
            for place, value in zip(places, view.values.ravel().tolist(), strict=True):
                told: dict[str, Entry] = {"kind": table.kind, "hook": table.hook, "metric": metric}
                told["value"] = None if np.isnan(value) else value
                for each in place:
                    told[each.axis] = each.value
                    words = axes[each.axis]
                    if words is not None:
                        told[words] = each.label
                yield tuple([told.get(name) for name in names])


def _axes(sweep: Sweep) -> dict[AxisName, str | None]:
    """Every axis of every table, and the column that its labels have, if any."""
    out: dict[AxisName, str | None] = {}
    for table in sweep.table.tables:
        for axis in table.axes:
            out[axis.name] = out.get(axis.name) or _words_column(table, axis.name)
    return out


def _words_column(table: Table, name: AxisName) -> str | None:
    if name == "position":
        return "token"
    [axis] = [axis for axis in table.axes if axis.name == name]
    return None if axis.labels == [str(value) for value in axis.values] else f"{name}_label"
