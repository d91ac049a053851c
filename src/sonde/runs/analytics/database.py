"""One DuckDB, for all that is asked of runs: in memory, bounded, and on one thread a question.

Tables hold only what is not compacted yet. One thread, because callers have threads of their
own, the trainer wants the cores, and sums then have the same bits every time. Each thread takes a
cursor: tables are shared between cursors, what is registered is not.
"""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY = "384MB"
SPILL = "4GB"
"""What a question that needs more memory may put on disk meanwhile."""


def connect(memory: str = MEMORY) -> "DuckDBPyConnection":
    """A new database. Nothing is fetched from anywhere."""
    import duckdb

    connection = duckdb.connect(
        config={
            "threads": 1,
            "memory_limit": memory,
            "temp_directory": str(Path(tempfile.gettempdir()) / f"sonde-spill-{os.getpid()}"),
            "max_temp_directory_size": SPILL,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
    )
    connection.execute("SET parquet_metadata_cache = true")
    return connection


def quoted(path: Path) -> str:
    """A path inside a statement."""
    return "'" + str(path).replace("'", "''") + "'"


def arrays(
    connection: "DuckDBPyConnection", statement: str, values: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """The columns of a result as numpy arrays; a null becomes a masked value."""
    result: dict[str, Any] = connection.execute(statement, values).fetchnumpy()
    return result
