import json
import os
import shutil
from pathlib import Path
from random import Random

import pytest
from duckdb import DuckDBPyConnection

from sonde.errors import AnalyticsFailed
from sonde.runs import rotation
from sonde.runs.analytics import ingest as ingest_module
from sonde.runs.analytics.goodlines import GoodLines, records
from sonde.runs.analytics.ingest import Ingest, Ingested
from sonde.runs.analytics.reading import LineBlock
from tests.runs.trainer import Trainer

VOLUME, PIECE = 40, 16


def ingest(trainer: Trainer, connection: DuckDBPyConnection) -> Ingest:
    return Ingest(connection, trainer.layout, volume_records=VOLUME, piece_records=PIECE)


def tokens(found: Ingested, connection: DuckDBPyConnection) -> list[int]:
    """The numbers of all records that were read, in order of step."""
    each = (f"SELECT token_index {losses.part.records_from}" for losses in found.parts)
    if not found.parts:
        return []
    return sorted(row[0] for row in connection.execute(" UNION ALL ".join(each)).fetchall())


def summed(found: Ingested) -> int:
    return sum(losses.part.records for losses in found.parts)


def test_only_what_is_new_is_read(trainer: Trainer, connection: DuckDBPyConnection) -> None:
    reader = ingest(trainer, connection)
    assert reader.advance() == Ingested()
    trainer.write(10)
    assert tokens(reader.advance(), connection) == list(range(10))
    before = reader.advance()
    assert reader.advance().parts[0] is before.parts[0], "what has not changed is not done again"
    trainer.write(25)
    after = reader.advance()
    assert tokens(after, connection) == list(range(35))
    assert [losses.part.records for losses in after.parts] == [16, 16, 3]
    reader.close()


def test_half_a_line_waits_and_is_not_counted_as_missing(
    trainer: Trainer, connection: DuckDBPyConnection
) -> None:
    reader = ingest(trainer, connection)
    trainer.write(3)
    trainer.tear()
    found = reader.advance()
    assert tokens(found, connection) == [0, 1, 2]
    assert found.complete
    trainer.mend()
    assert tokens(reader.advance(), connection) == [0, 1, 2, 3]
    reader.close()


def test_full_tails_become_volumes_that_the_next_reader_takes_over(
    trainer: Trainer, connection: DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer.write(100)
    reader = ingest(trainer, connection)
    first = reader.advance()
    cache = trainer.layout.directory / ".sonde" / "analytics-1"
    assert sorted(path.name for path in cache.iterdir()) == ["000000", "000001"]
    assert first.cache == cache
    assert tokens(first, connection) == list(range(100))
    reader.close()

    read: list[int] = []

    def counted(piece: LineBlock, most: int) -> GoodLines:
        read.append(piece.start)
        return records(piece, most)

    monkeypatch.setattr("sonde.runs.analytics.ingest.records", counted)
    again = ingest(trainer, connection)
    found = again.advance()
    assert tokens(found, connection) == list(range(100))
    assert summed(found) == 100
    assert min(read) > 0, "the beginning was not read again"
    again.close()


def test_volumes_end_after_the_same_line_however_the_file_grew(
    tmp_path: Path, connection: DuckDBPyConnection
) -> None:
    about = []
    for pace in (7, 100):
        trainer = Trainer(tmp_path / f"run{pace}")
        reader = ingest(trainer, connection)
        while trainer.written < 100:
            trainer.write(min(pace, 100 - trainer.written))
            reader.advance()
        volumes = trainer.layout.directory / ".sonde" / "analytics-1"
        found = [
            json.loads((path / "volume.json").read_text()) for path in sorted(volumes.iterdir())
        ]
        about.append([[(span["start"], span["end"]) for span in one["spans"]] for one in found])
        reader.close()
    assert about[0] == about[1]


def test_a_file_that_is_cut_is_read_again_from_what_still_matches(
    trainer: Trainer, connection: DuckDBPyConnection
) -> None:
    trainer.write(100)
    reader = ingest(trainer, connection)
    reader.advance()
    lines = trainer.layout.live.read_bytes().splitlines(keepends=True)
    os.truncate(trainer.layout.live, sum(map(len, lines[:50])))
    found = reader.advance()
    assert tokens(found, connection) == list(range(50))
    with trainer.layout.live.open("ab") as live:
        live.write(b"".join(trainer.line(number) for number in range(200, 260)))
    assert tokens(reader.advance(), connection) == [*range(50), *range(200, 260)]
    reader.close()


def test_a_file_that_is_rewritten_is_read_from_its_start(
    trainer: Trainer, connection: DuckDBPyConnection
) -> None:
    trainer.write(100)
    reader = ingest(trainer, connection)
    reader.advance()
    beside = trainer.layout.live.with_suffix(".new")
    beside.write_bytes(b"".join(trainer.line(number) for number in range(500, 510)))
    beside.replace(trainer.layout.live)
    assert tokens(reader.advance(), connection) == list(range(500, 510))
    trainer.layout.live.unlink()
    assert reader.advance().parts == ()
    reader.close()


def test_a_rotation_repeats_and_loses_nothing(
    trainer: Trainer, connection: DuckDBPyConnection
) -> None:
    reader = ingest(trainer, connection)
    for step in (10, 20, 30):
        trainer.write(33)
        reader.advance()
        trainer.write(5)
        rotation.rotate(trainer.layout, step)
        trainer.write(2)
    assert tokens(reader.advance(), connection) == list(range(120))
    reader.close()
    again = ingest(trainer, connection)
    assert tokens(again.advance(), connection) == list(range(120))
    again.close()


def test_steps_that_were_done_again_after_a_resume_count_once(
    trainer: Trainer, connection: DuckDBPyConnection
) -> None:
    """Steps are tens of records here."""
    trainer.write(100)
    reader = ingest(trainer, connection)
    reader.advance()
    rotation.resume(trainer.layout, 6)
    trainer.written = 70
    trainer.write(30)
    assert tokens(reader.advance(), connection) == list(range(100))
    reader.close()


def test_bad_lines_are_counted_and_their_neighbours_kept(
    trainer: Trainer, connection: DuckDBPyConnection
) -> None:
    reader = ingest(trainer, connection)
    trainer.write(30)
    trainer.append(b'nonsense\n\n{"step":NaN}\n{"hello":1}\n')
    trainer.write(30)
    found = reader.advance()
    assert tokens(found, connection) == list(range(60))
    assert found.withheld == 3
    reader.close()
    again = ingest(trainer, connection)
    assert again.advance().withheld == 3
    again.close()


def test_a_file_of_nothing_but_nonsense_does_no_harm(
    trainer: Trainer, connection: DuckDBPyConnection
) -> None:
    reader = ingest(trainer, connection)
    wrong = trainer.line(3).replace(b"[0, 1, 2]", b"[0]")
    trainer.append(wrong * 100)
    found = reader.advance()
    assert (found.parts, found.withheld, found.complete) == ((), 100, True)
    trainer.write(1)
    assert tokens(reader.advance(), connection) == [0]
    reader.close()


def test_reading_stops_when_time_is_up_and_goes_on_later(
    trainer: Trainer, connection: DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest_module, "SLICE_BYTES", 1)
    trainer.write(200)
    now = iter(range(10**6))
    reader = ingest(trainer, connection)
    found = reader.advance(2, clock=lambda: float(next(now)))
    assert not found.complete
    assert 0 < found.bytes_read < found.bytes_total
    assert 0 < summed(found) < 200
    found = reader.advance()
    assert found.complete
    assert tokens(found, connection) == list(range(200))
    reader.close()


def test_it_can_be_stopped_from_elsewhere(trainer: Trainer, connection: DuckDBPyConnection) -> None:
    trainer.write(10)
    reader = ingest(trainer, connection)
    reader.stop = True
    assert not reader.advance().complete
    reader.close()


def test_a_run_that_cannot_be_written_to_is_kept_elsewhere(
    trainer: Trainer, connection: DuckDBPyConnection
) -> None:
    (trainer.layout.directory / ".sonde").write_text("in the way")
    trainer.write(100)
    reader = ingest(trainer, connection)
    found = reader.advance()
    assert found.cache is not None
    assert found.cache.is_relative_to(os.environ["XDG_CACHE_HOME"])
    assert tokens(found, connection) == list(range(100))
    reader.close()
    again = ingest(trainer, connection)
    assert again.advance().cache == found.cache
    again.close()


def test_where_nothing_can_be_kept_it_says_so(
    trainer: Trainer, connection: DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ingest_module, "write", full)
    trainer.write(100)
    reader = ingest(trainer, connection)
    with pytest.raises(AnalyticsFailed, match="No space left"):
        reader.advance()
    reader.close()


def test_a_copied_run_takes_its_volumes_along(
    trainer: Trainer, connection: DuckDBPyConnection, tmp_path: Path
) -> None:
    trainer.write(100)
    reader = ingest(trainer, connection)
    reader.advance()
    reader.close()
    shutil.copytree(trainer.layout.directory, tmp_path / "copy")
    copy = Trainer(tmp_path / "copy")
    (tmp_path / "run" / "sae_features.live.jsonl").unlink()
    again = ingest(copy, connection)
    found = again.advance()
    assert tokens(found, connection) == list(range(100))
    assert (tmp_path / "copy" / ".sonde" / "analytics-1" / "000001").is_dir()
    again.close()


@pytest.mark.parametrize("damaged", ["rows.bin", "bins.npy", "volume.json"])
def test_damaged_volumes_are_made_again(
    trainer: Trainer, connection: DuckDBPyConnection, damaged: str
) -> None:
    trainer.write(100)
    reader = ingest(trainer, connection)
    reader.advance()
    reader.close()
    volume = trainer.layout.directory / ".sonde" / "analytics-1" / "000000"
    (volume / damaged).write_bytes(b"not an array")
    again = ingest(trainer, connection)
    assert tokens(again.advance(), connection) == list(range(100))
    again.close()


@pytest.mark.parametrize("seed", range(5))
def test_whatever_a_writer_does_every_record_counts_once(
    trainer: Trainer, connection: DuckDBPyConnection, seed: int
) -> None:
    random = Random(seed)
    reader = ingest(trainer, connection)
    for number in range(22):
        act = random.choice(["write", "write", "tear", "rotate", "read", "open"])
        if act == "write":
            trainer.write(random.randint(1, 30))
        elif act == "tear":
            trainer.mend()
            trainer.tear(random.random())
        elif act == "rotate":
            trainer.mend()
            rotation.rotate(trainer.layout, number + 1)
        elif act == "read":
            reader.advance()
        else:
            reader.close()
            reader = ingest(trainer, connection)
    trainer.mend()
    found = reader.advance()
    assert tokens(found, connection) == list(range(trainer.written))
    assert summed(found) == trainer.written
    reader.close()
