"""The history of sweeps: what is written is read back, and nothing else is ever lost."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sonde.errors import BadRequest, DataDirectoryInUse, UnknownSweep
from sonde.schema import Summary, SweepState
from sonde.store.sweep_file import FILE_NAME
from sonde.store.sweeps import SweepStore
from tests.results.summaries import summary, three_hooks
from tests.store.swept import ENDED, EVENTS, entry, finish, ids


def test_a_sweep_goes_from_waiting_to_running_to_finished(store: SweepStore) -> None:
    store.begin(entry("a"))
    assert store.entry("a") == entry("a")
    store.running("a", 6)
    assert store.entry("a") == entry("a", state="running", cells=6)
    assert store.record("a").summary is None
    assert store.events("a") == []
    finish(store, "a")
    ended = entry("a", state="finished", ended=ENDED, cells=6, done=6)
    assert store.entry("a") == ended
    record = store.record("a")
    assert record.summary == summary()
    assert record.model_dump(exclude={"summary"}) == ended.model_dump()
    assert store.events("a") == EVENTS


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_a_sweep_without_a_result_keeps_its_reason_and_its_events(
    store: SweepStore, state: SweepState
) -> None:
    store.begin(entry("a"))
    finish(store, "a", state=state, error="no reason", summary=None, done=2, events=EVENTS[:2])
    record = store.record("a")
    assert (record.state, record.error, record.summary, record.done) == (
        state, "no reason", None, 2,
    )  # fmt: skip
    assert store.events("a") == EVENTS[:2]


def test_a_sweep_may_end_without_events_or_axes(store: SweepStore) -> None:
    store.begin(entry("a"))
    finish(store, "a", state="failed", cells=None, done=0, summary=None, events=[])
    assert store.events("a") == []
    assert store.entry("a").cells is None


def test_the_summary_of_a_stream_is_kept_without_its_tag(store: SweepStore) -> None:
    wide = three_hooks().summary
    assert wide is not None
    store.begin(entry("a"))
    finish(store, "a", summary=Summary(**dict(wide)))
    assert store.record("a").summary == wide


def test_all_of_it_survives_closing_and_opening(tmp_path: Path) -> None:
    store = SweepStore(tmp_path)
    store.begin(entry("a"))
    finish(store, "a")
    before = store.record("a"), store.events("a")
    store.close()
    store.close()
    again = SweepStore(tmp_path)
    assert (again.record("a"), again.events("a")) == before
    again.close()


def test_what_was_unfinished_when_the_server_ended_is_interrupted_and_says_so(
    tmp_path: Path,
) -> None:
    store = SweepStore(tmp_path)
    for sweep in ("waiting", "running", "finished", "failed"):
        store.begin(entry(sweep))
    store.running("running", 6)
    finish(store, "finished")
    finish(store, "failed", state="failed", error="its own reason", summary=None)
    store.close()
    again = SweepStore(tmp_path)
    for sweep in ("waiting", "running"):
        found = again.record(sweep)
        assert found.state == "interrupted"
        assert found.ended is None
        assert "server ended" in (found.error or "")
    assert again.entry("finished").state == "finished"
    assert again.entry("failed").error == "its own reason"
    again.close()


@pytest.mark.parametrize("sweep", ["absent", "", "../../etc/passwd", "a/b", "a\x00", "x" * 10_000])
def test_an_id_that_is_not_there_or_could_not_be_is_unknown(store: SweepStore, sweep: str) -> None:
    for ask in (store.entry, store.record, store.events):
        with pytest.raises(UnknownSweep):
            ask(sweep)
    with pytest.raises(UnknownSweep):
        store.running(sweep, 1)
    with pytest.raises(UnknownSweep):
        finish(store, sweep)


@pytest.mark.parametrize("sweep", ["", "..", "a/b", "a b", "é", "a\n", "x" * 65])
def test_an_id_that_is_not_an_id_is_never_taken_up(store: SweepStore, sweep: str) -> None:
    with pytest.raises(BadRequest, match="sweep id"):
        store.begin(entry(sweep))
    assert ids(store) == []


def test_an_id_is_taken_once(store: SweepStore) -> None:
    store.begin(entry("a"))
    finish(store, "a")
    with pytest.raises(BadRequest, match="already"):
        store.begin(entry("a"))
    assert store.entry("a").state == "finished"


def test_an_event_is_one_line(store: SweepStore) -> None:
    store.begin(entry("a"))
    with pytest.raises(ValueError, match="one line"):
        finish(store, "a", events=[b'{"a":\n1}'])
    assert store.entry("a").state == "waiting"


def test_pages_are_newest_first_and_hold_every_sweep_once(store: SweepStore) -> None:
    for number in range(7):
        store.begin(entry(f"s{number}"))
    seen, before = [], None
    for _ in range(3):
        page = store.page(before=before, limit=3)
        seen += [each.id for each in page.sweeps]
        before = page.next
    assert before is None
    assert seen == [f"s{number}" for number in reversed(range(7))]


def test_a_full_last_page_has_no_next(store: SweepStore) -> None:
    for number in range(4):
        store.begin(entry(f"s{number}"))
    assert store.page(limit=4).next is None
    assert store.page(limit=3).next is not None


def test_an_empty_history_is_a_page_too(store: SweepStore) -> None:
    assert store.page().model_dump() == {"sweeps": [], "next": None}


def test_sweeps_that_begin_or_go_meanwhile_do_not_disturb_paging(tmp_path: Path) -> None:
    store = SweepStore(tmp_path, keep=6)
    for number in range(6):
        store.begin(entry(f"s{number}"))
        finish(store, f"s{number}")
    first = store.page(limit=2)
    assert [each.id for each in first.sweeps] == ["s5", "s4"]
    for number in range(6, 9):
        store.begin(entry(f"s{number}"))
    assert ids(store, before=first.next, limit=10) == ["s3"], "s0 to s2 went, the rest stands"
    store.close()


@pytest.mark.parametrize("before", ["", "x", "-1", "1.5", "９", "9" * 30, "1; DROP TABLE sweeps"])
def test_a_cursor_that_no_page_gave_is_refused(store: SweepStore, before: str) -> None:
    with pytest.raises(BadRequest, match="before="):
        store.page(before=before)


@pytest.mark.parametrize("limit", [0, -1, 10**9])
def test_a_page_has_a_size(store: SweepStore, limit: int) -> None:
    with pytest.raises(BadRequest, match="limit"):
        store.page(limit=limit)


def test_the_oldest_beyond_keep_go_with_all_they_had(tmp_path: Path) -> None:
    store = SweepStore(tmp_path, keep=3)
    for number in range(8):
        store.begin(entry(f"s{number}"))
        finish(store, f"s{number}")
    assert ids(store) == ["s7", "s6", "s5"]
    with pytest.raises(UnknownSweep):
        store.events("s0")
    store.close()
    with sqlite3.connect(tmp_path / FILE_NAME) as file:
        assert file.execute("SELECT count(*) FROM results").fetchone() == (3,)
    file.close()
    fewer = SweepStore(tmp_path, keep=1)
    assert ids(fewer) == ["s7"]
    fewer.close()


def test_a_sweep_that_has_not_ended_does_not_go(tmp_path: Path) -> None:
    store = SweepStore(tmp_path, keep=2)
    store.begin(entry("long"))
    store.running("long", 6)
    for number in range(5):
        store.begin(entry(f"s{number}"))
        finish(store, f"s{number}")
    assert ids(store) == ["s4", "s3", "long"]
    finish(store, "long")
    store.begin(entry("next"))
    assert ids(store) == ["next", "s4"]
    store.close()


def test_keeping_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="keep is 0"):
        SweepStore(tmp_path, keep=0)


def test_a_second_server_is_refused_by_name_and_the_first_goes_on(
    tmp_path: Path, store: SweepStore
) -> None:
    store.begin(entry("a"))
    with pytest.raises(DataDirectoryInUse, match="--data-dir"):
        SweepStore(tmp_path)
    finish(store, "a")
    assert store.entry("a").state == "finished"


def test_the_file_is_for_its_owner_only(tmp_path: Path, store: SweepStore) -> None:
    store.begin(entry("a"))
    assert {path.stat().st_mode & 0o077 for path in tmp_path.iterdir()} == {0}


def test_several_threads_share_it(store: SweepStore) -> None:
    def work(thread: int) -> None:
        for number in range(10):
            sweep = f"t{thread}-{number}"
            store.begin(entry(sweep))
            store.running(sweep, 6)
            finish(store, sweep, events=[sweep.encode()])
            assert store.events(sweep) == [sweep.encode()]
            store.page(limit=5)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
    assert len(store.page(limit=100).sweeps) == 80


def test_07_a_store_that_is_closed_says_at_once_what_was_unfinished(tmp_path: Path) -> None:
    """The file itself: it may be long before another server opens it."""
    store = SweepStore(tmp_path)
    for sweep in ("waiting", "running", "finished"):
        store.begin(entry(sweep))
    store.running("running", 6)
    finish(store, "finished")
    store.close()
    with sqlite3.connect(tmp_path / FILE_NAME) as file:
        states = dict(file.execute("SELECT id, state FROM sweeps").fetchall())
    file.close()
    assert states == {
        "waiting": "interrupted", "running": "interrupted", "finished": "finished",
    }  # fmt: skip
