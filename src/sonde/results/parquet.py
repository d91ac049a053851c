"""A result as a Parquet file: the table of `to_csv` with types, and its provenance inside the file.

Not a second format of the whole result: JSON is what reads back as a `Sweep`. This is for DuckDB,
pandas and polars, which read many files at once, and a null stays a null in all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.results.tables import Entry, columns, rows

if TYPE_CHECKING:
    from sonde.results.sweep import Sweep

FORMAT_KEY, PROVENANCE_KEY = "sonde.format", "sonde.provenance"
"""Keys of the file's metadata: the version of its columns, and the provenance as JSON."""

_QUIET: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "autoinstall_known_extensions": False,
}
"""One thread, so that the bytes are the same; and nothing fetched from anywhere."""
_CLASSIC = ("hook", "layer", "position", "token", "metric", "value")


def to_parquet(sweep: Sweep) -> bytes:
    """One row a cell, as in the CSV. The same result gives the same bytes."""
    import duckdb

    names = columns(sweep)
    *texts, values = zip(*rows(sweep), strict=True)
    kinds = [_kind(column) for column in texts] + ["DOUBLE"]
    table = {name: _array(column) for name, column in zip(names, texts, strict=False)}
    table["value"] = np.ma.masked_invalid(np.array(values, dtype=np.float64))
    both = zip(names, kinds, strict=True)
    select = ", ".join(f'"{name}"::{kind} AS "{name}"' for name, kind in both)
    with TemporaryDirectory(prefix="sonde-") as folder, duckdb.connect(config=_QUIET) as connection:
        target = Path(folder) / "sweep.parquet"
        connection.register("cells", table)
        connection.execute(
            f"COPY (SELECT {select} FROM cells) TO $target (FORMAT parquet, "
            f"KV_METADATA {{'{FORMAT_KEY}': $format, '{PROVENANCE_KEY}': $provenance}})",
            {
                "target": str(target),
                "format": "sonde.sweep.1" if names == _CLASSIC else "sonde.sweep.2",
                "provenance": sweep.provenance.model_dump_json(),
            },
        )
        return target.read_bytes()


def _kind(column: Sequence[Entry]) -> str:
    """Numbers as such, unless something else stands among them."""
    told = [each for each in column if each is not None]
    return "INTEGER" if told and all(isinstance(each, int) for each in told) else "VARCHAR"


def _array(column: Sequence[Entry]) -> Any:
    """An array of one type; where a table lacks an axis, its cells have a null."""
    if _kind(column) == "VARCHAR":
        column = [None if each is None else str(each) for each in column]
    return np.array(column, dtype=object if None in column else None)
