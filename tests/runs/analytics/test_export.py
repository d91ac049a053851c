import zipfile
from pathlib import Path

import duckdb
import pytest
from duckdb import DuckDBPyConnection

from sonde.errors import BadRequest
from sonde.runs.analytics.analysis import RunAnalysis
from sonde.runs.analytics.export import run_files, to_parquet, to_zip
from sonde.runs.layout import RunLayout
from tests.runs.analytics.conftest import Read
from tests.runs.analytics.made import made_run


def test_a_zip_unpacks_to_the_same_run(
    run: Read, connection: DuckDBPyConnection, tmp_path: Path
) -> None:
    files = to_zip(run.made.layout, tmp_path / "run.zip")
    with zipfile.ZipFile(tmp_path / "run.zip") as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "out")
    assert len(names) == len(set(names)) == files
    assert not any("checkpoint" in name for name in names), "snapshots are names of segments"
    again = RunAnalysis(connection, RunLayout(tmp_path / "out" / "run"))
    known = again.advance()
    assert known.coverage.records == len(run.made.records)
    assert known.generations.ids == run.known.generations.ids
    assert len(known.metrics) == len(known.health) == 12
    again.close()


def test_half_a_line_is_left_behind_and_a_snapshot_of_its_own_is_not(tmp_path: Path) -> None:
    layout = RunLayout(tmp_path / "run")
    layout.checkpoint(50).mkdir(parents=True)
    layout.snapshot(50).write_text('{"step":1}\n')
    layout.metadata(50).write_text("{}")
    layout.live.write_text('{"step":2}\n{"step":')
    to_zip(layout, tmp_path / "run.zip")
    with zipfile.ZipFile(tmp_path / "run.zip") as archive:
        assert archive.read(f"run/{layout.live.name}") == b'{"step":2}\n'
        assert archive.read("run/checkpoint-50/sae_features.jsonl") == b'{"step":1}\n'
        assert archive.read("run/checkpoint-50/aegir_metadata.json") == b"{}"


def test_work_that_was_done_again_is_left_out(tmp_path: Path) -> None:
    made = made_run(tmp_path / "run", steps=3)
    (made.layout.segments).mkdir(exist_ok=True)
    made.layout.abandoned(2).write_text("{}\n")
    assert made.layout.abandoned(2) not in run_files(made.layout)


def test_parquet_holds_every_line_of_every_file(run: Read, tmp_path: Path) -> None:
    names = to_parquet(run.known, run.cursor, run.made.layout, tmp_path / "tables")
    assert names == ["records.parquet", "generations.parquet", "metrics.parquet", "health.parquet"]
    tables = {}
    for name in names:
        with duckdb.connect() as reader:
            found = reader.execute(f"FROM '{tmp_path / 'tables' / name}'")
            columns = [column[0] for column in found.description or []]
            tables[name] = [dict(zip(columns, row, strict=True)) for row in found.fetchall()]
    assert tables["records.parquet"] == run.made.records, "in the order of the files"
    assert tables["generations.parquet"] == run.made.generations
    assert tables["metrics.parquet"] == run.made.metrics
    layers = [
        (line["step"], one["layer_index"], one["fvu"])
        for line in run.made.health
        for one in line["layers"]
    ]
    kept = [(r["step"], r["layer_index"], r["fvu"]) for r in tables["health.parquet"]]
    assert kept == layers


def test_a_run_of_the_reference_has_records_and_nothing_else(
    reference: Read, tmp_path: Path
) -> None:
    layout = reference.made.layout
    names = to_parquet(reference.known, reference.cursor, layout, tmp_path / "tables")
    assert names == ["records.parquet"]


def test_what_is_there_stays_unless_it_may_be_replaced(run: Read, tmp_path: Path) -> None:
    for target in (tmp_path / "run.zip", tmp_path / "tables"):
        target.mkdir()
        (target / "precious").touch()
        with pytest.raises(BadRequest, match="--force"):
            to_zip(run.made.layout, target)
        with pytest.raises(BadRequest, match="--force"):
            to_parquet(run.known, run.cursor, run.made.layout, target)
        assert (target / "precious").exists()
    to_parquet(run.known, run.cursor, run.made.layout, tmp_path / "tables", replace=True)
    to_zip(run.made.layout, tmp_path / "run.zip", replace=True)
    assert zipfile.is_zipfile(tmp_path / "run.zip")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.zip", "tables"]


def test_an_empty_directory_is_no_run_to_export(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="holds no run"):
        to_zip(RunLayout(tmp_path), tmp_path / "run.zip")
    assert list(tmp_path.iterdir()) == []
