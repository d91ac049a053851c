"""The newest records of a run, in a table, until there are enough of them to be compacted.

Lines go through a file to DuckDB, whose reader of JSON is twice as fast as its functions and does
not hold the interpreter's lock.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sonde.runs.analytics.database import quoted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_COLUMNS = """{
    'step': 'BIGINT', 'token_index': 'BIGINT', 'layer_index': 'INTEGER',
    'top_feature_indices': 'INTEGER[]', 'top_feature_activations': 'DOUBLE[]',
    'reconstruction_loss': 'DOUBLE'
}"""

COLUMNS = "step, token_index, layer, features, activations, loss"
"""Of a table of records, in memory or compacted."""

_FINITE = """
    CASE WHEN isfinite(coalesce(list_sum(top_feature_activations), 0)) THEN top_feature_activations
    ELSE list_transform(top_feature_activations, lambda a: CASE WHEN isfinite(a) THEN a END) END
"""
"""A number such as 1e999 is valid JSON and no number."""


class Tail:
    """A table that only grows. Rows are numbered from 0 in the order of their lines."""

    def __init__(self, connection: "DuckDBPyConnection", name: str) -> None:
        self.name = name
        self.rows = 0
        self._connection = connection
        connection.execute(f"""
            CREATE OR REPLACE TABLE {name} (step BIGINT, token_index BIGINT, layer INTEGER,
            features INTEGER[], activations DOUBLE[], loss DOUBLE)
        """)

    def add(self, lines: Sequence[bytes]) -> int:
        """Put lines at the end. -> how many of them turned out to be no records"""
        if not lines:
            return 0
        descriptor, name = tempfile.mkstemp(prefix="sonde-", suffix=".jsonl")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(b"\n".join(lines))
                file.write(b"\n")
            added = self._insert(Path(name))
        finally:
            os.unlink(name)
        self.rows += added
        return len(lines) - added

    def rows_from(self, start: int, end: int) -> str:
        """The clause for some of its rows."""
        return f"FROM {self.name} WHERE rowid >= {start} AND rowid < {end}"

    def drop(self) -> None:
        """Forget it."""
        self._connection.execute(f"DROP TABLE IF EXISTS {self.name}")

    def _insert(self, path: Path) -> int:
        found = self._connection.execute(f"""
            INSERT INTO {self.name}
            SELECT step, token_index, layer_index, top_feature_indices, {_FINITE},
                   CASE WHEN isfinite(reconstruction_loss) THEN reconstruction_loss END
            FROM read_json({quoted(path)}, format = 'newline_delimited', ignore_errors = true,
                           columns = {_COLUMNS})
            WHERE step >= 0 AND token_index >= 0 AND layer_index >= 0
              AND len(top_feature_indices) = len(top_feature_activations)
        """).fetchone()
        return int(found[0]) if found else 0
