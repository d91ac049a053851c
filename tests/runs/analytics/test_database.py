from pathlib import Path

import duckdb
import numpy as np
import pytest

from sonde.runs.analytics.database import arrays, connect, quoted


def test_it_is_bounded_has_one_thread_and_fetches_nothing() -> None:
    with connect("64MB") as connection:
        names = ("threads", "memory_limit", "autoinstall_known_extensions")
        found = dict(connection.execute("SELECT name, value FROM duckdb_settings()").fetchall())
        assert [found[name] for name in names] == ["1", "61.0 MiB", "false"]
        assert Path(found["temp_directory"]).is_absolute()
        with pytest.raises(duckdb.Error):
            connection.execute("LOAD httpfs")


def test_a_path_with_a_quote_stays_one_string(tmp_path: Path) -> None:
    path = tmp_path / "it's.json"
    path.write_text('{"a":1}\n')
    with connect() as connection:
        assert connection.execute(f"SELECT a FROM read_json({quoted(path)})").fetchall() == [(1,)]


def test_nulls_are_masked() -> None:
    with connect() as connection:
        found = arrays(
            connection, "SELECT * FROM (VALUES (1.5), (NULL)) AS t(a) WHERE $b", {"b": 1}
        )
        assert np.ma.getmaskarray(found["a"]).tolist() == [False, True]
