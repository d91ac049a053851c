import json
import os
from itertools import count
from pathlib import Path

from duckdb import DuckDBPyConnection

from sonde.runs.analytics.analysis import RunAnalysis, RunContents
from sonde.runs.layout import RunLayout
from sonde.runs.writer import RunWriter
from tests.runs.analytics.conftest import SIZES, Read
from tests.runs.analytics.made import made_run


def test_everything_of_a_run_is_known_after_one_look(run: Read) -> None:
    known = run.known
    assert known.layers == [0, 15]
    assert known.steps() == (1, 12)
    assert [line.iteration for line in known.metrics] == list(range(1, 13))
    assert [line.step for line in known.health] == list(range(1, 13))
    assert known.missing == ()
    assert RunContents().steps() is None


def test_what_was_known_does_not_change_when_more_is_read(
    tmp_path: Path, connection: DuckDBPyConnection
) -> None:
    made = made_run(tmp_path / "run", steps=4)
    analysis = RunAnalysis(connection, made.layout, None, **SIZES)
    before = analysis.advance()
    records, joined = before.coverage.records, len(before.losses(connection))
    with made.layout.live.open("ab") as live:
        live.write(made.layout.live.read_bytes().splitlines(keepends=True)[0])
    after = analysis.advance()
    assert after.coverage.records == records + 1
    assert before.coverage.records == records
    assert len(before.losses(connection)) == joined
    analysis.close()


def test_a_resumed_run_is_read_as_it_is_now(tmp_path: Path, connection: DuckDBPyConnection) -> None:
    made = made_run(tmp_path / "run", steps=8)
    analysis = RunAnalysis(connection, made.layout, None, **SIZES)
    analysis.advance()
    RunWriter.resume(made.layout, 5).close()
    known = analysis.advance()
    assert known.steps() == (1, 5)
    assert known.coverage.records == sum(record["step"] <= 5 for record in made.records)
    assert [line.iteration for line in known.metrics] == [1, 2, 3, 4, 5]
    assert len(known.health) == 5
    assert set(known.generations.rows["step"]) == {1, 2, 3, 4, 5}
    analysis.close()


def test_a_directory_that_is_not_there_has_nothing_and_later_something(
    tmp_path: Path, connection: DuckDBPyConnection
) -> None:
    analysis = RunAnalysis(connection, RunLayout(tmp_path / "run"), None, **SIZES)
    known = analysis.advance()
    assert known.coverage.complete
    assert len(known.missing) == 4
    assert not os.path.exists(tmp_path / "run"), "looking makes nothing"
    made_run(tmp_path / "run", steps=2)
    assert analysis.advance().steps() == (1, 2)
    analysis.stop()
    analysis.close()


def test_lines_of_companions_that_cannot_be_used_are_counted_too(
    tmp_path: Path, connection: DuckDBPyConnection
) -> None:
    made = made_run(tmp_path / "run", steps=2)
    for companion in (made.layout.generations, made.layout.metrics, made.layout.health):
        with companion.open("ab") as file:
            file.write(b'{"step": "two"}\n')
    analysis = RunAnalysis(connection, made.layout, None, **SIZES)
    assert analysis.advance().coverage.withheld == 3
    analysis.close()


def test_what_was_worked_out_stays_until_something_new_was_read(
    tmp_path: Path, connection: DuckDBPyConnection
) -> None:
    made = made_run(tmp_path / "run", steps=3)
    analysis = RunAnalysis(connection, made.layout)
    before = analysis.advance()
    numbers = count()
    for _ in range(2):
        assert analysis.advance() is before
        assert analysis.known.once("which time", lambda: next(numbers)) == 0
    with made.layout.live.open("a") as file:
        file.write(json.dumps(made.records[-1]) + "\n")
    after = analysis.advance()
    assert after is not before
    assert after.coverage.records == before.coverage.records + 1
    assert after.once("which time", lambda: next(numbers)) == 1
    with made.layout.metrics.open("a") as file:
        file.write(json.dumps(made.metrics[-1]) + "\n")
    assert len(analysis.advance().metrics) == len(after.metrics) + 1
    analysis.close()
