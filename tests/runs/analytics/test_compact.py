from pathlib import Path

import numpy as np
from duckdb import DuckDBPyConnection

from sonde.runs.analytics.compact import Span, located, read_all, write
from sonde.runs.analytics.parts import TYPES, sum_up
from sonde.runs.analytics.reading import mark, opened
from sonde.runs.analytics.tail import Tail
from sonde.runs.files import LineFile
from tests.runs.trainer import Trainer


def volume_of(
    trainer: Trainer, connection: DuckDBPyConnection, cache: Path
) -> tuple[Tail, LineFile, Span]:
    """A volume of everything in the live file."""
    lines = trainer.layout.live.read_bytes().splitlines()
    tail = Tail(connection, "whole")
    tail.add(lines)
    (file,) = opened([trainer.layout.live])
    assert file.fingerprint is not None
    span = Span(*file.identity, file.fingerprint, 0, mark(file.descriptor, file.size))
    write(connection, tail.rows_from(0, tail.rows), cache, 0, (span,), 3)
    return tail, file, span


def test_a_volume_reads_back_as_what_was_written(
    tmp_path: Path, connection: DuckDBPyConnection
) -> None:
    trainer = Trainer(tmp_path / "run")
    trainer.write(50)
    tail, file, span = volume_of(trainer, connection, tmp_path / "cache")
    (found,) = read_all([tmp_path / "cache"], [file])
    assert (found.number, found.withheld, found.spans) == (0, 3, (span,))
    original = sum_up(connection, tail.rows_from(0, 50))
    for name in ("bins", "layers", "spans"):
        assert np.array_equal(getattr(found.part, name), getattr(original, name))
    for name in TYPES:
        there, before = (part.stored.read(name, 0, 10**6) for part in (found.part, original))
        assert np.array_equal(there, before)
    kept = connection.execute(f"SELECT * {found.part.records_from}").fetchall()
    assert kept == connection.execute(f"SELECT * {tail.rows_from(0, 50)}").fetchall()
    file.close()
    tail.drop()


def test_a_volume_of_other_bytes_is_removed(tmp_path: Path, connection: DuckDBPyConnection) -> None:
    trainer = Trainer(tmp_path / "run")
    trainer.write(50)
    tail, file, span = volume_of(trainer, connection, tmp_path / "cache")
    files = {file.identity: file}
    assert located(span, files) is file
    trainer.truncate()
    trainer.write(60)
    assert located(span, files) is None
    assert read_all([tmp_path / "cache"], [file]) == []
    assert list((tmp_path / "cache").iterdir()) == []
    file.close()
    tail.drop()


def test_a_gap_between_volumes_ends_the_chain(
    tmp_path: Path, connection: DuckDBPyConnection
) -> None:
    trainer = Trainer(tmp_path / "run")
    trainer.write(50)
    tail, file, span = volume_of(trainer, connection, tmp_path / "cache")
    later = Span(span.device, span.inode, span.fingerprint, span.end.offset + 5, span.end)
    write(connection, tail.rows_from(0, 5), tmp_path / "cache", 1, (later,), 0)
    assert [volume.number for volume in read_all([tmp_path / "cache"], [file])] == [0]
    file.close()
    tail.drop()
