"""A result as a Parquet file."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sonde.results import Sweep
from sonde.results.parquet import FORMAT_KEY, PROVENANCE_KEY, to_parquet
from sonde.schema import MetricGrid
from tests.results.summaries import SHAPES, WEIRD, provenance, sweep, three_hooks, with_tokens


def read(content: bytes, tmp_path: Path, query: str) -> list[tuple[Any, ...]]:
    path = tmp_path / "read.parquet"
    path.write_bytes(content)
    with duckdb.connect() as connection:
        return connection.execute(query, [str(path)]).fetchall()


def further() -> Sweep:
    grid = MetricGrid(
        metric="recovered", hook="post_block", grid=[[0.5] * 3] * 2, argmax=None, argmin=None
    )
    return sweep(metric_grids=[grid])


@pytest.mark.parametrize(
    "result",
    [sweep(), three_hooks(), sweep({"mlp_in": [[None]]}), with_tokens(*WEIRD, "a\x00b"), further()],
    ids=["nulls", "three hooks", "one null", "weird tokens", "two metrics"],
)
def test_it_holds_the_rows_of_the_csv(result: Sweep, tmp_path: Path) -> None:
    rows = read(to_parquet(result), tmp_path, "SELECT * FROM read_parquet(?)")
    lines = csv.reader(io.StringIO(result.to_csv(), newline=""))
    assert next(lines) == ["hook", "layer", "position", "token", "metric", "value"]
    told = [
        (hook, int(layer), int(position), token, metric, float(value) if value else None)
        for hook, layer, position, token, metric, value in lines
    ]
    assert rows == told


def test_its_columns_have_proper_types(tmp_path: Path) -> None:
    kinds = read(to_parquet(sweep()), tmp_path, "DESCRIBE SELECT * FROM read_parquet(?)")
    assert [(kind[0], kind[1]) for kind in kinds] == [
        ("hook", "VARCHAR"),
        ("layer", "INTEGER"),
        ("position", "INTEGER"),
        ("token", "VARCHAR"),
        ("metric", "VARCHAR"),
        ("value", "DOUBLE"),
    ]


def test_a_missing_number_is_null_and_never_nan(tmp_path: Path) -> None:
    query = "SELECT count(*) - count(value), count(*) FILTER (isnan(value)) FROM read_parquet(?)"
    assert read(to_parquet(sweep()), tmp_path, query) == [(1, 0)]


def test_a_number_survives_to_the_last_bit(tmp_path: Path) -> None:
    value = -5.0 + 2**-50
    content = to_parquet(sweep({"mlp_in": [[value]]}))
    assert read(content, tmp_path, "SELECT value FROM read_parquet(?)") == [(value,)]


def test_its_provenance_is_inside_the_file(tmp_path: Path) -> None:
    quoted = provenance(prompt="it's “quoted” \\ 日本")
    content = to_parquet(replace(sweep(), provenance=quoted))
    found = dict(read(content, tmp_path, "SELECT key, value FROM parquet_kv_metadata(?)"))
    assert found[FORMAT_KEY.encode()] == b"sonde.sweep.1"
    assert json.loads(found[PROVENANCE_KEY.encode()]) == quoted.model_dump(mode="json")


def test_the_same_result_gives_the_same_bytes() -> None:
    assert to_parquet(three_hooks()) == to_parquet(three_hooks())


def test_it_is_saved_by_its_suffix(tmp_path: Path) -> None:
    path = sweep().save(tmp_path / "a.parquet")
    assert path.read_bytes() == to_parquet(sweep())
    assert list(tmp_path.iterdir()) == [path]


def test_other_axes_have_their_own_columns_and_another_format(tmp_path: Path) -> None:
    content = to_parquet(SHAPES["words"])
    rows = read(content, tmp_path, "SELECT * FROM read_parquet(?)")
    assert rows[0] == ("post_block", 7, "7 <b>cities\x1b[31m", "logprob", -5.0)
    found = dict(read(content, tmp_path, "SELECT key, value FROM parquet_kv_metadata(?)"))
    assert found[FORMAT_KEY.encode()] == b"sonde.sweep.2"


def test_an_axis_that_a_table_lacks_is_null_there(tmp_path: Path) -> None:
    rows = read(to_parquet(SHAPES["unlike axes"]), tmp_path, "SELECT * FROM read_parquet(?)")
    assert rows[0] == ("post_block", 0, None, None, "logprob", -5.0)
    assert rows[-1] == ("mlp_out", 6, 2, " Colos", "logprob", -2.5)
