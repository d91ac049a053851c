"""Reading a history that another server writes, or wrote until it was killed."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from sonde.errors import DataDirectoryError, UnknownSweep
from sonde.store.past import PastSweeps
from sonde.store.sweep_file import FILE_NAME
from sonde.store.sweeps import SweepStore
from tests.store.swept import EVENTS, entry, finish

KILLED = """
import os, sys
from pathlib import Path
from sonde.store.sweeps import SweepStore
from tests.store.swept import entry, finish
store = SweepStore(Path(sys.argv[1]))
for sweep in ("waiting", "running", "finished"):
    store.begin(entry(sweep))
store.running("running", 6)
finish(store, "finished")
os._exit(9)
"""


def killed_server(directory: Path) -> None:
    """What a server leaves that was killed: nothing is closed, and the lock is free."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(directory)], timeout=60)
    assert done.returncode == 9


def test_it_reads_what_a_server_that_runs_has_written(tmp_path: Path, store: SweepStore) -> None:
    past = PastSweeps(tmp_path)
    for sweep in ("a", "b"):
        store.begin(entry(sweep))
    store.running("b", 6)
    finish(store, "a")
    assert [(each.id, each.state) for each in past.page().sweeps] == [
        ("b", "running"), ("a", "finished"),
    ]  # fmt: skip
    assert past.record("a") == store.record("a")
    assert past.events("a") == EVENTS
    assert past.events("b") == []
    assert store.entry("b").state == "running", "a server that is at work knows best"


def test_07_after_a_kill_the_next_reader_marks_what_was_unfinished(tmp_path: Path) -> None:
    killed_server(tmp_path)
    past = PastSweeps(tmp_path)
    states = {each.id: each.state for each in past.page().sweeps}
    assert states == {
        "waiting": "interrupted", "running": "interrupted", "finished": "finished",
    }  # fmt: skip
    assert "server ended" in str(past.record("running").error)
    with sqlite3.connect(tmp_path / FILE_NAME) as file:
        (left,) = file.execute("SELECT count(*) FROM sweeps WHERE state = 'running'").fetchone()
    file.close()
    assert left == 0, "and the file says so too"


def test_it_holds_nothing_between_two_questions(tmp_path: Path) -> None:
    killed_server(tmp_path)
    past = PastSweeps(tmp_path)
    past.page()
    SweepStore(tmp_path).close()
    assert past.record("finished").state == "finished"


def test_where_no_server_ever_was_the_history_is_empty_and_nothing_is_made(tmp_path: Path) -> None:
    past = PastSweeps(tmp_path / "none")
    assert past.page().sweeps == []
    for ask in (past.record, past.events):
        with pytest.raises(UnknownSweep):
            ask("a")
    assert not (tmp_path / "none").exists()


def test_the_file_of_another_program_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE_NAME) as file:
        file.execute("CREATE TABLE theirs (a)")
    file.close()
    with pytest.raises(DataDirectoryError, match="another program"):
        PastSweeps(tmp_path).page()
    (tmp_path / FILE_NAME).write_bytes(b"no database at all" * 100)
    with pytest.raises(DataDirectoryError, match=FILE_NAME):
        PastSweeps(tmp_path).page()
