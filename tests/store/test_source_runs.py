"""The source-run store: budget, whole-run eviction, leases, drops, generations."""

import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from sonde.errors import (
    BadRequest,
    RequestTooLarge,
    SourceRunDropped,
    StaleSourceRun,
    UnknownSourceRun,
)
from sonde.schema import SourceRun
from sonde.store.source_runs import Contents, Handle, SourceRuns

MIB = 2**20
WEIGHTS = "w0"


class Clock:
    """A clock that moves when told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> SourceRuns[str]:
    return SourceRuns(10 * MIB, clock=clock)


def contents(mib: int, *, weights: str = WEIGHTS, n_tokens: int = 9) -> Contents:
    return Contents(
        prompt="p",
        n_tokens=n_tokens,
        hooks=("pre_attn", "post_block"),
        layers=(0, 3),
        positions=tuple(range(n_tokens)),
        n_bytes=mib * MIB,
        weights=weights,
    )


def put(store: SourceRuns[str], run: str, mib: int, payload: str = "") -> Handle:
    return store.put(run, contents(mib), payload or run)


def names(store: SourceRuns[str]) -> list[str]:
    """Stored runs, next to be evicted first."""
    return list(store.manifests())


def test_a_stored_run_is_read_back(store: SourceRuns[str]) -> None:
    handle = put(store, "clean", 3, "activations")
    assert store.find("clean", weights=WEIGHTS) == handle
    assert store.read(handle, weights=WEIGHTS) == "activations"
    assert store.used_bytes() == 3 * MIB


def test_a_listing_says_what_a_run_holds_and_how_long_it_is_safe(
    store: SourceRuns[str], clock: Clock
) -> None:
    put(store, "clean", 3)
    clock.now += 20
    store.lease("clean")
    clock.now += 100
    assert store.manifests() == {
        "clean": SourceRun(
            prompt="p",
            run="clean",
            generation=1,
            n_tokens=9,
            hooks=["pre_attn", "post_block"],
            layers=[0, 3],
            positions=list(range(9)),
            bytes=3 * MIB,
            weights=WEIGHTS,
            age_seconds=120,
            lease_seconds=200,
        )
    }


def test_an_unknown_run_is_an_error_that_lists_the_known(store: SourceRuns[str]) -> None:
    put(store, "clean", 1)
    with pytest.raises(UnknownSourceRun, match=r"patch source not found: no run 'klean'.*'clean'"):
        store.find("klean", weights=WEIGHTS)


def test_a_second_run_of_a_name_replaces_the_first_whole(store: SourceRuns[str]) -> None:
    put(store, "clean", 6, "old")
    handle = store.put("clean", contents(7, n_tokens=4), "new")
    assert store.read(handle, weights=WEIGHTS) == "new"
    assert store.used_bytes() == 7 * MIB
    assert store.manifests()["clean"].n_tokens == 4
    assert store.manifests()["clean"].positions == [0, 1, 2, 3]


# --- budget and eviction ----------------------------------------------------------------------


def test_the_least_recently_used_runs_make_room(store: SourceRuns[str]) -> None:
    for run in ("a", "b", "c"):
        put(store, run, 3)
    put(store, "d", 5)
    assert names(store) == ["c", "d"]


def test_no_more_runs_are_evicted_than_needed(store: SourceRuns[str]) -> None:
    put(store, "a", 4)
    put(store, "b", 4)
    put(store, "c", 6)
    assert names(store) == ["b", "c"]


def test_finding_or_reading_a_run_makes_it_the_most_recent(store: SourceRuns[str]) -> None:
    a, _, _ = (put(store, run, 3) for run in ("a", "b", "c"))
    store.read(a, weights=WEIGHTS)
    store.find("b", weights=WEIGHTS)
    assert names(store) == ["c", "a", "b"]
    put(store, "d", 3)
    assert names(store) == ["a", "b", "d"]


def test_capturing_a_run_again_makes_it_the_most_recent(store: SourceRuns[str]) -> None:
    put(store, "a", 3)
    put(store, "b", 3)
    put(store, "a", 3)
    assert names(store) == ["b", "a"]


def test_listing_checking_and_leasing_are_no_use(store: SourceRuns[str]) -> None:
    put(store, "a", 3)
    put(store, "b", 3)
    store.manifests()
    store.check("a", 3 * MIB)
    store.lease("a")
    assert names(store) == ["a", "b"]


def test_a_run_as_large_as_the_budget_fits(store: SourceRuns[str]) -> None:
    put(store, "a", 10)
    put(store, "b", 10)
    assert names(store) == ["b"]


@pytest.mark.parametrize("run", ["new", "a"])
def test_a_run_larger_than_the_budget_is_refused_before_anything_is_evicted(
    store: SourceRuns[str], run: str
) -> None:
    handle = put(store, "a", 5, "kept")
    put(store, "b", 5)
    message = r"'\w+' needs 11.0 MiB and the budget is 10.0 MiB; .* raise source_run_gib"
    with pytest.raises(RequestTooLarge, match=message) as caught:
        store.check(run, 11 * MIB)
    with pytest.raises(RequestTooLarge, match=message):
        put(store, run, 11)
    assert (caught.value.needed_bytes, caught.value.budget_bytes) == (11 * MIB, 10 * MIB)
    assert names(store) == ["a", "b"]
    assert store.read(handle, weights=WEIGHTS) == "kept"


def test_checking_what_would_fit_changes_nothing(store: SourceRuns[str]) -> None:
    put(store, "a", 6)
    store.check("b", 10 * MIB)
    assert names(store) == ["a"]


def test_a_budget_of_zero_refuses_every_run() -> None:
    store: SourceRuns[str] = SourceRuns(0, setting="--source-run-gib")
    with pytest.raises(RequestTooLarge, match="no source runs: set --source-run-gib above 0"):
        store.check("a", 0)
    with pytest.raises(RequestTooLarge):
        put(store, "a", 1)


def test_a_negative_budget_is_refused() -> None:
    with pytest.raises(BadRequest, match="use 0 for no store"):
        SourceRuns[str](-1)


# --- leases -----------------------------------------------------------------------------------


def test_a_leased_run_outlives_younger_ones(store: SourceRuns[str]) -> None:
    put(store, "a", 4)
    assert store.lease("a")
    put(store, "b", 4)
    put(store, "c", 4)
    assert names(store) == ["a", "c"]


def test_when_leases_leave_no_room_the_new_run_is_refused_and_nothing_is_evicted(
    store: SourceRuns[str],
) -> None:
    put(store, "a", 6)
    store.lease("a")
    put(store, "b", 2)
    message = r"beside the leased runs needs 11.0 MiB .* 10.0 MiB; wait .*\['a'\] end, drop one"
    with pytest.raises(RequestTooLarge, match=message):
        store.check("c", 5 * MIB)
    with pytest.raises(RequestTooLarge, match=message):
        put(store, "c", 5)
    assert names(store) == ["a", "b"]


def test_a_lease_runs_out(store: SourceRuns[str], clock: Clock) -> None:
    put(store, "a", 6)
    store.lease("a")
    clock.now += 299.9
    with pytest.raises(RequestTooLarge):
        put(store, "b", 6)
    clock.now += 0.1
    assert store.manifests()["a"].lease_seconds is None
    put(store, "b", 6)
    assert names(store) == ["b"]


def test_leasing_again_renews(store: SourceRuns[str], clock: Clock) -> None:
    put(store, "a", 6)
    store.lease("a")
    clock.now += 200
    store.lease("a")
    clock.now += 200
    assert store.manifests()["a"].lease_seconds == 100


def test_a_holder_gives_back_its_own_lease_only(store: SourceRuns[str]) -> None:
    put(store, "a", 6)
    store.lease("a", "sweep-1")
    store.lease("a", "sweep-2")
    assert store.release("a", "sweep-1")
    assert not store.release("a", "sweep-1")
    with pytest.raises(RequestTooLarge):
        put(store, "b", 6)
    assert store.release("a", "sweep-2")
    put(store, "b", 6)
    assert names(store) == ["b"]


def test_there_is_no_lease_on_a_run_that_is_not_there(store: SourceRuns[str]) -> None:
    assert not store.lease("a")
    assert not store.release("a")
    put(store, "a", 1)
    assert store.manifests()["a"].lease_seconds is None


def test_a_lease_does_not_hold_off_a_new_run_of_the_name_and_ends_with_the_old(
    store: SourceRuns[str],
) -> None:
    put(store, "a", 6)
    store.lease("a")
    put(store, "a", 6)
    assert store.manifests()["a"].lease_seconds is None


# --- drops and generations --------------------------------------------------------------------


def test_a_drop_works_on_a_leased_run_and_clears_the_lease(store: SourceRuns[str]) -> None:
    put(store, "a", 6)
    store.lease("a")
    assert store.drop("a")
    assert not store.drop("a")
    put(store, "a", 6)
    assert store.manifests()["a"].lease_seconds is None


@pytest.mark.parametrize("end", ["dropped", "replaced", "dropped and captured again", "evicted"])
def test_a_sweep_notices_that_its_run_is_no_longer_the_same(
    store: SourceRuns[str], end: str
) -> None:
    handle = put(store, "a", 6)
    if end.startswith("dropped"):
        store.drop("a")
    if end == "evicted":
        put(store, "b", 6)
    if end in {"replaced", "dropped and captured again"}:
        put(store, "a", 6)
    with pytest.raises(SourceRunDropped, match="source dropped: run 'a'"):
        store.read(handle, weights=WEIGHTS)


def test_a_dropped_payload_is_let_go(store: SourceRuns[str]) -> None:
    payload = "".join(["not", "interned"])
    before = sys.getrefcount(payload)
    handle = put(store, "a", 1, payload)
    store.drop("a")
    assert sys.getrefcount(payload) == before
    assert handle.run == "a"


# --- weights and names ------------------------------------------------------------------------


def test_a_run_captured_under_other_weights_is_refused_by_name(store: SourceRuns[str]) -> None:
    handle = put(store, "a", 1)
    put(store, "b", 1)
    with pytest.raises(StaleSourceRun, match="'a' was captured under weights w0, but w1 are"):
        store.find("a", weights="w1")
    with pytest.raises(StaleSourceRun):
        store.read(handle, weights="w1")
    assert names(store) == ["a", "b"]
    assert store.read(handle, weights=WEIGHTS) == "a"


@pytest.mark.parametrize("run", ["clean", "dash-0123456789ab", "a.b_c-D", "x" * 128, "a...", "-"])
def test_letters_digits_and_three_signs_make_a_name(store: SourceRuns[str], run: str) -> None:
    put(store, run, 1)
    assert names(store) == [run]


@pytest.mark.parametrize(
    "run",
    ["", ".", "..", "a/b", "../../etc/passwd", "%2e", "a b", "a\n", "a\0", "é", "x" * 10_000],
)
def test_anything_else_is_no_name(store: SourceRuns[str], run: str) -> None:
    with pytest.raises(BadRequest, match="letters, digits") as caught:
        store.check(run, 1)
    assert len(str(caught.value)) < 300
    with pytest.raises(BadRequest):
        put(store, run, 1)
    with pytest.raises(BadRequest):
        store.find(run, weights=WEIGHTS)
    assert not store.drop(run)
    assert not store.lease(run)
    assert names(store) == []


# --- threads ----------------------------------------------------------------------------------


def yielding_clock() -> float:
    """Let other threads run: the store reads its clock in the middle of every change."""
    time.sleep(0)
    return time.monotonic()


def test_threads_never_see_a_half_done_change() -> None:
    """Within budget at any moment; a handle gives its own payload or an error; no two are equal."""
    store: SourceRuns[str] = SourceRuns(10 * MIB, clock=yielding_clock)
    together = Barrier(4)

    def work(worker: int) -> list[Handle]:
        dice = random.Random(worker)
        together.wait(timeout=10)
        mine: list[tuple[Handle, str]] = []
        for turn in range(300):
            run, payload = f"run-{dice.randrange(6)}", f"{worker}/{turn}"
            try:
                mine.append((put(store, run, dice.randrange(1, 5), payload), payload))
            except RequestTooLarge:
                store.drop(f"run-{dice.randrange(6)}")
            if dice.random() < 0.3:
                store.lease(run, str(worker))
            if dice.random() < 0.2:
                store.release(run, str(worker))
            assert store.used_bytes() <= 10 * MIB
            for handle, expected in mine[-3:]:
                try:
                    assert store.read(handle, weights=WEIGHTS) == expected
                except SourceRunDropped:
                    continue
        return [handle for handle, _ in mine]

    with ThreadPoolExecutor(4) as pool:
        handles = [handle for result in pool.map(work, range(4)) for handle in result]
    assert len({handle.generation for handle in handles}) == len(handles)
    assert store.used_bytes() == sum(run.bytes for run in store.manifests().values())
