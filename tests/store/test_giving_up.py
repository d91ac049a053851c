"""A run that its owner is done with goes with its last lease."""

import pytest

from sonde.store.source_runs import SourceRuns
from tests.store.test_source_runs import MIB, WEIGHTS, Clock, names, put


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> SourceRuns[str]:
    return SourceRuns(10 * MIB, clock=clock)


def test_giving_up_a_handle_leaves_a_newer_run_of_the_name(store: SourceRuns[str]) -> None:
    old = put(store, "a", 1)
    new = put(store, "a", 1, "newer")
    assert not store.give_up(old)
    assert store.read(new, weights=WEIGHTS) == "newer"
    assert store.give_up(new)
    assert not store.give_up(new)
    assert names(store) == []


def test_a_run_that_was_given_up_goes_with_its_last_lease(store: SourceRuns[str]) -> None:
    handle = put(store, "a", 1)
    store.lease("a", "one")
    store.lease("a", "two")
    assert store.give_up(handle)
    store.release("a", "one")
    assert store.read(handle, weights=WEIGHTS)
    store.release("a", "two")
    assert names(store) == []


def test_a_run_that_was_given_up_goes_when_its_lease_runs_out(
    store: SourceRuns[str], clock: Clock
) -> None:
    handle = put(store, "a", 1)
    store.lease("a", "died")
    store.give_up(handle)
    assert names(store) == ["a"]
    clock.now += 301
    assert names(store) == []
