"""Sweeps of the past: their numbered events, and those of a server that was killed."""

import json
from pathlib import Path

import pytest

from sonde.errors import SweepNotFinished, UnknownSweep
from sonde.server.past import LAST_NUMBER, History, numbered
from sonde.store.past import PastSweeps
from sonde.store.sweeps import SweepStore
from tests.store.swept import EVENTS, entry, finish

pytestmark = pytest.mark.anyio


@pytest.fixture
def store(tmp_path: Path) -> SweepStore:
    store = SweepStore(tmp_path)
    for sweep in ("finished", "cut"):
        store.begin(entry(sweep))
    finish(store, "finished")
    return store


async def test_events_keep_their_numbers_wherever_one_begins(
    tmp_path: Path, store: SweepStore
) -> None:
    store.close()
    past = History(PastSweeps(tmp_path))
    assert past.last_number("finished") == len(EVENTS)
    assert [batch async for batch in past.follow("finished", 1)] == [
        [(2, EVENTS[1]), (3, EVENTS[2])]
    ]


async def test_07_a_subscriber_to_an_interrupted_sweep_is_told_once(
    tmp_path: Path, store: SweepStore
) -> None:
    store.close()
    past = History(PastSweeps(tmp_path))
    [[(number, event)]] = [batch async for batch in past.follow("cut", 7)]
    told = json.loads(event)
    assert (told["type"], told["state"]) == ("error", "interrupted")
    assert "server ended" in told["error"]
    assert number == past.last_number("cut") == LAST_NUMBER, "then there is no more to ask for"


async def test_a_sweep_that_goes_on_elsewhere_cannot_be_followed_here(
    tmp_path: Path, store: SweepStore
) -> None:
    past = History(PastSweeps(tmp_path))
    with pytest.raises(SweepNotFinished):
        past.last_number("cut")
    with pytest.raises(UnknownSweep):
        past.last_number("nobody")
    assert numbered(store, "cut") == [], "nobody knows yet how it ends"
    store.close()
