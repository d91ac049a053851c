"""The file behind the history: foreign, newer, damaged, or cut off in the middle of a write."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sonde.errors import DataDirectoryError
from sonde.store.past import PastSweeps
from sonde.store.sweep_file import APPLICATION, FILE_NAME, VERSION, Only
from sonde.store.sweeps import SweepStore
from tests.programs import started
from tests.results.summaries import summary
from tests.store import killed_writer
from tests.store.swept import entry, finish, version_3


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE theirs (x)")
    file.close()


def newer(path: Path) -> None:
    with sqlite3.connect(path) as file:
        file.execute(f"PRAGMA application_id = {APPLICATION}")
        file.execute(f"PRAGMA user_version = {VERSION + 1}")
        file.execute("CREATE TABLE sweeps (x)")
    file.close()


def no_database(path: Path) -> None:
    path.write_bytes(b"not a database, but somebody's " * 100)


def damaged(path: Path, where: slice = slice(4096, 20_480)) -> None:
    store = SweepStore(path.parent)
    for number in range(20):
        store.begin(entry(f"s{number}"))
        finish(store, f"s{number}", events=[os.urandom(3000).hex().encode()])
    store.close()
    content = bytearray(path.read_bytes())
    content[where] = b"\xff" * len(content[where])
    path.write_bytes(content)


def damaged_inside(path: Path) -> None:
    """Pages that nobody reads on opening."""
    damaged(path, slice(-3 * 4096, -4096))


def cut_short(path: Path) -> None:
    damaged(path)
    path.write_bytes(path.read_bytes()[:9000])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (foreign, "another program"),
        (newer, f"version {VERSION + 1}.*newer Sonde"),
        (no_database, "not a database"),
        (damaged, "damaged|malformed"),
        (damaged_inside, "damaged"),
        (cut_short, "damaged|malformed"),
    ],
)
def test_a_file_that_cannot_be_trusted_is_refused_and_left_as_it_is(
    tmp_path: Path, make: Any, says: str
) -> None:
    path = tmp_path / FILE_NAME
    make(path)
    before = path.read_bytes()
    with pytest.raises(DataDirectoryError, match=says) as refusal:
        SweepStore(tmp_path)
    assert str(path) in str(refusal.value)
    assert "--data-dir" in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert path.read_bytes() == before
    path.unlink()
    SweepStore(tmp_path).close()


def test_a_sweep_whose_bytes_are_damaged_is_an_error_that_names_the_file(
    tmp_path: Path, store: SweepStore
) -> None:
    store.begin(entry("a"))
    finish(store, "a")
    with sqlite3.connect(tmp_path / FILE_NAME) as file:
        file.execute("UPDATE results SET events = x'00', summary = x'00'")
    file.close()
    for ask in (store.record, store.events):
        with pytest.raises(DataDirectoryError, match=FILE_NAME):
            ask("a")
    assert store.entry("a").state == "finished"


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = SweepStore(tmp_path)
    store.close()
    with pytest.raises(DataDirectoryError, match="closed"):
        store.page()


def test_a_write_that_fails_changes_nothing(tmp_path: Path, store: SweepStore) -> None:
    """The second statement of `end` fails, as it would on a full disk."""
    store.begin(entry("a"))
    with sqlite3.connect(tmp_path / FILE_NAME) as file:
        file.execute(
            "CREATE TRIGGER full BEFORE INSERT ON results BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
    file.close()
    with pytest.raises(DataDirectoryError, match="full"):
        finish(store, "a")
    assert store.entry("a") == entry("a")


def test_a_killed_writer_leaves_every_sweep_before_or_after_a_write_never_between(
    tmp_path: Path,
) -> None:
    """Three writers, one after the other, each killed in the middle of its writing."""
    for round_number in range(3):
        directory = tmp_path / str(round_number)
        with started(
            [sys.executable, "-m", "tests.store.killed_writer", str(directory)],
            stdout=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            said = [process.stdout.readline().strip() for _ in range(5 + round_number)]
            process.kill()
            process.wait()
            said += process.stdout.read().split()
        store = SweepStore(directory)
        found = store.page(limit=1000).sweeps
        assert {each.state for each in found} <= {"finished", "interrupted"}
        finished = [each.id for each in found if each.state == "finished"]
        assert set(said) <= set(finished), "what was said to be written is there"
        assert len(found) - len(finished) <= 1
        for sweep in finished:
            assert store.record(sweep).summary == summary()
            expected = [killed_writer.event(sweep, n) for n in range(killed_writer.CELLS)]
            assert store.events(sweep) == expected
        for each in found:
            if each.state == "interrupted":
                assert store.events(each.id) == []
        store.close()


def version_1(directory: Path) -> None:
    """The history as it was before sweeps had kinds."""
    version_3(directory)
    with sqlite3.connect(directory / FILE_NAME) as file:
        file.execute("DROP TABLE requests")
        file.execute("DROP TABLE pairs")
        file.execute("ALTER TABLE sweeps DROP COLUMN kind")
        file.execute("PRAGMA user_version = 1")
    file.close()


def test_a_history_of_the_first_version_is_read_as_it_is_and_taken_over(tmp_path: Path) -> None:
    version_1(tmp_path)
    past = PastSweeps(tmp_path)
    before = past.record("old")
    assert (before.kind, before.summary) == ("classic", summary())
    assert [each.id for each in past.page(only=Only("classic")).sweeps] == ["old"]
    assert past.page(only=Only("table")).sweeps == []

    store = SweepStore(tmp_path)
    assert store.record("old") == before
    store.begin(entry("new", kind="table"))
    assert [each.id for each in store.page(only=Only("table")).sweeps] == ["new"]
    assert [each.id for each in store.page().sweeps] == ["new", "old"]
    store.close()
    with sqlite3.connect(tmp_path / FILE_NAME) as file:
        assert file.execute("PRAGMA user_version").fetchone() == (VERSION,)
    file.close()
    assert past.record("old") == before
