"""What people say of sweeps is kept, survives, and protects; what they delete is gone."""

import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sonde.errors import (
    BadRequest,
    DataDirectoryInUse,
    SweepUnderWay,
    UnknownSweep,
)
from sonde.schema import Remarks
from sonde.store import remarks
from sonde.store.lock import DirectoryLock
from sonde.store.past import PastSweeps
from sonde.store.sweep_file import FILE_NAME, VERSION, Only
from sonde.store.sweeps import SweepStore
from tests.results.summaries import summary
from tests.store.swept import entry, finish, ids, version_3

NAMED = Remarks(name="the one for the paper", note="layer 22\nis where it moves", starred=True)


def version_of(directory: Path) -> int:
    with sqlite3.connect(directory / FILE_NAME) as file:
        (version,) = file.execute("PRAGMA user_version").fetchone()
    file.close()
    return int(version)


def test_a_name_a_note_and_a_star_survive_closing_and_opening(tmp_path: Path) -> None:
    store = SweepStore(tmp_path)
    store.begin(entry("a"))
    store.remark("a", NAMED)
    finish(store, "a")
    store.close()
    again = SweepStore(tmp_path)
    found = again.record("a")
    assert (found.name, found.note, found.starred) == (NAMED.name, NAMED.note, True)
    assert found.summary == summary()
    again.close()


def test_what_is_left_out_stays_and_an_empty_text_takes_the_old_away(store: SweepStore) -> None:
    store.begin(entry("a"))
    store.remark("a", NAMED)
    assert store.remark("a", Remarks()) == store.entry("a")
    after = store.remark("a", Remarks(name="  ", starred=False))
    assert (after.name, after.note, after.starred) == ("", NAMED.note, False)
    assert store.remark("a", Remarks(note="")).model_dump() == entry("a").model_dump()


def test_an_entry_that_nobody_spoke_of_has_no_field_more_than_before() -> None:
    assert not {"name", "note", "starred"} & set(entry("a").model_dump())


@pytest.mark.parametrize(
    "said",
    [{"name": "x" * 121}, {"name": "two\nlines"}, {"note": "x" * 4_001}, {"stars": 1}],
)
def test_remarks_have_a_size_and_no_other_fields(said: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        Remarks.model_validate(said)


def test_a_star_protects_from_being_forgotten_and_is_not_counted(tmp_path: Path) -> None:
    store = SweepStore(tmp_path, keep=3)
    for number in range(8):
        store.begin(entry(f"s{number}"))
        finish(store, f"s{number}")
        if number < 2:
            store.remark(f"s{number}", Remarks(starred=True))
    assert ids(store) == ["s7", "s6", "s5", "s1", "s0"]
    store.remark("s0", Remarks(starred=False))
    store.begin(entry("next"))
    assert ids(store) == ["next", "s7", "s6", "s1"]
    store.close()


def test_there_are_so_many_stars_and_no_more(
    store: SweepStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remarks, "MOST_STARS", 2)
    for sweep in "abc":
        store.begin(entry(sweep))
    for sweep in "ab":
        store.remark(sweep, Remarks(starred=True))
    with pytest.raises(BadRequest, match="2 sweeps have a star"):
        store.remark("c", Remarks(starred=True))
    assert store.remark("a", NAMED).name == NAMED.name, "one that has a star already"


def test_a_deleted_sweep_is_gone_with_all_it_had_and_no_other(
    tmp_path: Path, store: SweepStore
) -> None:
    for sweep in "abc":
        store.begin(entry(sweep))
        finish(store, sweep)
    assert store.forget("b").id == "b"
    assert ids(store) == ["c", "a"]
    for ask in (store.entry, store.events, store.forget):
        with pytest.raises(UnknownSweep):
            ask("b")
    with sqlite3.connect(tmp_path / FILE_NAME) as file:
        assert file.execute("SELECT count(*) FROM results").fetchone() == (2,)
    file.close()


def test_gaps_that_deleting_leaves_do_not_make_others_go_early(tmp_path: Path) -> None:
    store = SweepStore(tmp_path, keep=3)
    for number in range(3):
        store.begin(entry(f"s{number}"))
        finish(store, f"s{number}")
    store.forget("s1")
    store.begin(entry("s3"))
    assert ids(store) == ["s3", "s2", "s0"]
    store.close()


def test_a_sweep_under_way_is_cancelled_before_it_is_deleted(store: SweepStore) -> None:
    store.begin(entry("a"))
    with pytest.raises(SweepUnderWay, match="waiting.*DELETE /v1/sweeps/a cancels it"):
        store.forget("a")
    store.running("a", 6)
    with pytest.raises(SweepUnderWay, match="running"):
        store.forget("a")


def test_words_are_looked_for_in_names_notes_ids_and_requests(store: SweepStore) -> None:
    for sweep in ("a1", "b2"):
        store.begin(entry(sweep))
    store.remark("a1", Remarks(name="Überraschung", note="moves at layer 22"))
    for words in ("überraschung", "LAYER moves", "a1", "22 eiffel"):
        assert ids(store, only=Only(words=words)) == ["a1"], words
    assert ids(store, only=Only(words="eiffel")) == ["b2", "a1"]
    assert ids(store, only=Only(words="eiffel nowhere")) == []
    assert ids(store, only=Only(words="%")) == [], "letter for letter, not a pattern"


def test_only_those_with_a_star_page_by_page(store: SweepStore) -> None:
    for number in range(6):
        store.begin(entry(f"s{number}"))
        store.remark(f"s{number}", Remarks(starred=number % 2 == 0))
    first = store.page(limit=2, only=Only(starred=True))
    assert [each.id for each in first.sweeps] == ["s4", "s2"]
    assert ids(store, before=first.next, only=Only(starred=True)) == ["s0"]


def test_a_history_of_before_is_read_as_it_is_and_renewed_when_it_is_written_to(
    tmp_path: Path,
) -> None:
    version_3(tmp_path)
    past = PastSweeps(tmp_path)
    before = past.record("old")
    assert (before.name, before.note, before.starred) == ("", "", False)
    assert [each.id for each in past.page(only=Only(words="eiffel")).sweeps] == ["old"]
    assert past.page(only=Only(starred=True)).sweeps == []
    assert version_of(tmp_path) == 3, "who reads changes nothing"
    assert past.remark("old", NAMED).name == NAMED.name
    assert version_of(tmp_path) == VERSION
    store = SweepStore(tmp_path)
    assert store.record("old").summary == before.summary
    assert store.entry("old").starred
    store.close()


def test_who_only_shows_the_history_changes_it_beside_a_server_at_work(
    tmp_path: Path, store: SweepStore
) -> None:
    past = PastSweeps(tmp_path)
    for sweep in "ab":
        store.begin(entry(sweep))
    finish(store, "a")
    past.remark("b", NAMED)
    assert store.entry("b").note == NAMED.note
    with pytest.raises(SweepUnderWay):
        past.forget("b")
    past.forget("a")
    assert ids(store) == ["b"]
    finish(store, "b")
    assert store.entry("b").starred
    with sqlite3.connect(tmp_path / FILE_NAME) as file:
        assert file.execute("SELECT count(*) FROM results").fetchone() == (1,)
    file.close()


def test_a_file_that_an_older_server_is_at_work_on_is_not_renewed_under_it(tmp_path: Path) -> None:
    version_3(tmp_path)
    held = DirectoryLock(tmp_path)
    try:
        with pytest.raises(DataDirectoryInUse):
            PastSweeps(tmp_path).remark("old", NAMED)
    finally:
        held.release()
    assert version_of(tmp_path) == 3


READER = """
import os, sys
from pathlib import Path
from sonde.errors import HistoryReadOnly
from sonde.schema import Remarks
from sonde.store.past import PastSweeps
past = PastSweeps(Path(sys.argv[1]))
if os.geteuid() == 0:
    os.setuid(65534)
assert past.record("a").state == "finished"
for change in (lambda: past.remark("a", Remarks(name="x")), lambda: past.forget("a")):
    try:
        change()
    except HistoryReadOnly as error:
        print(error)
"""


def test_who_may_read_and_not_write_is_told_so_and_how_to_go_on() -> None:
    """As another user where this one may do everything, in a directory closed to writing."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        store = SweepStore(directory)
        store.begin(entry("a"))
        finish(store, "a")
        for path in directory.iterdir():
            path.chmod(0o444)
        directory.chmod(0o555)
        told = subprocess.run(
            [sys.executable, "-c", READER, name], capture_output=True, text=True, timeout=60
        )
        directory.chmod(0o755)
        assert told.stdout.count("cannot change it: ") == 2, told.stderr
        assert "Start it as a user who may write there" in told.stdout
        assert ids(store) == ["a"]
        store.close()
