"""A result as a Parquet file: the table of `to_csv` with types, and its provenance inside the file.

Not a second format of the whole result: JSON is what reads back as a `Sweep`. This is for DuckDB,
pandas and polars, which read many files at once, and a null stays a null in all of them.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from sonde.results.tables import COLUMNS, rows

if TYPE_CHECKING:
    from sonde.results.sweep import Sweep

FORMAT_KEY, PROVENANCE_KEY = "sonde.format", "sonde.provenance"
"""Keys of the file's metadata: the version of its columns, and the provenance as JSON."""

_QUIET: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "autoinstall_known_extensions": False,
}
"""One thread, so that the bytes are the same; and nothing fetched from anywhere."""
_TYPES = ("VARCHAR", "INTEGER", "INTEGER", "VARCHAR", "VARCHAR", "DOUBLE")
_SELECT = ", ".join(f"{name}::{kind} AS {name}" for name, kind in zip(COLUMNS, _TYPES, strict=True))


def to_parquet(sweep: Sweep) -> bytes:
    """One row a cell, in the order of the CSV. The same result gives the same bytes."""
    import duckdb

    *columns, values = zip(*rows(sweep), strict=True)
    table = dict(zip(COLUMNS, map(np.array, columns), strict=False))
    table["value"] = np.ma.masked_invalid(np.array(values, dtype=np.float64))
    with TemporaryDirectory(prefix="sonde-") as folder, duckdb.connect(config=_QUIET) as connection:
        target = Path(folder) / "sweep.parquet"
        connection.register("cells", table)
        connection.execute(
            f"COPY (SELECT {_SELECT} FROM cells) TO $target (FORMAT parquet, "
            f"KV_METADATA {{'{FORMAT_KEY}': $format, '{PROVENANCE_KEY}': $provenance}})",
            {
                "target": str(target),
                "format": "sonde.sweep.1",
                "provenance": sweep.provenance.model_dump_json(),
            },
        )
        return target.read_bytes()
