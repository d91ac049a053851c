"""Requests in flight: started so many at once, checked when they are done, stopped when closed."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from sonde.backends.vllm.collective import Outcome
from sonde.backends.vllm.flight import Flight, RequestInFlight, check_outcome
from sonde.backends.vllm.spec import RequestSpec, Stored, TermSpec, WriteSpec
from sonde.errors import HookNeverFired, SourceRunDropped

STORED = TermSpec(Stored("run@1", "mlp_in", 0, (0, 0)))
WRITE = WriteSpec("mlp_in", 0, (1, 0), (STORED,))


class Engine:
    """A driver that ends two requests a step, and ranks that wrote all they were asked to."""

    def __init__(self) -> None:
        self.waiting: list[str] = []
        self.done: dict[str, Any] = {}
        self.specs: dict[str, RequestSpec | None] = {}
        self.aborted: list[str] = []
        self.most = 0

    def submit(self, spec: RequestSpec | None, uid: str, tokens: Any, params: Any) -> None:
        self.waiting.append(uid)
        self.specs[uid] = spec
        self.most = max(self.most, len(self.waiting))

    def advance(self) -> None:
        for uid in self.waiting[:2]:
            self.done[uid] = SimpleNamespace(finished=True, num_cached_tokens=0, uid=uid)
        del self.waiting[:2]

    def take(self, uid: str) -> list[Any]:
        return [self.done.pop(uid)] if uid in self.done else []

    def abort(self, uids: list[str]) -> None:
        self.aborted += [uid for uid in uids if uid in self.waiting]

    def call(self, method: str, uids: list[str]) -> list[Any]:
        reports = {}
        for uid in uids:
            spec = self.specs[uid]
            assert spec is not None
            written = list(range(len(spec.spots())))
            reports[uid] = {
                "written": written, "elsewhere": [], "captured": 0, "missing": []
            }  # fmt: skip
        return [{"stage": 0, "share": 0, "requests": reports}]


def starts(flight: Flight, n: int, **more: Any) -> list[Callable[[], RequestInFlight]]:
    return [partial(flight.start, [1, 2], None, tag=i, **more) for i in range(n)]


def flight() -> tuple[Flight, Engine]:
    engine = Engine()
    return Flight(engine), engine  # type: ignore[arg-type]


def test_every_request_comes_back_once_and_no_more_are_in_flight_than_may() -> None:
    made, engine = flight()
    parts = list(made.each(starts(made, 7, writes=[WRITE]), 3))
    assert sorted(answer.asked.tag for part in parts for answer in part) == list(range(7))
    assert engine.most == 3
    assert engine.aborted == []


def test_closing_stops_what_is_in_flight_and_starts_no_more() -> None:
    made, engine = flight()
    work = made.each(starts(made, 20), 5)
    next(work)
    work.close()  # type: ignore[attr-defined]
    assert len(engine.specs) == 5
    assert len(engine.aborted) == 3


def test_a_request_carries_its_writes_and_the_names_of_their_runs() -> None:
    made, engine = flight()
    asked = made.start([1], None, writes=[WRITE], runs={"run@1": "run"}, tag="mine")
    assert engine.specs[asked.uid] == RequestSpec(asked.uid, (WRITE,))
    assert (asked.runs, asked.tag) == ({"run@1": "run"}, "mine")


def test_a_plain_request_carries_no_spec_so_that_compiled_graphs_serve_it() -> None:
    made, engine = flight()
    assert engine.specs[made.start([1], None, plain=True).uid] is None
    assert engine.specs[made.start([1], None).uid] is not None


def asked(*positions: int) -> RequestInFlight:
    """One write at all of them."""
    made = WriteSpec("mlp_in", 0, positions, (STORED,))
    return RequestInFlight("u", RequestSpec("u", (made,)), {"run@1": "run"})


def outcome(*written: int, missing: tuple[str, ...] = ()) -> Outcome:
    return Outcome(frozenset(written), 0, missing)


def test_a_position_that_was_not_written_is_an_error_that_names_it() -> None:
    check_outcome(asked(3, 5), outcome(0, 1), 0)
    with pytest.raises(HookNeverFired, match="1 of 2 patches.*mlp_in, layer 0, position 5"):
        check_outcome(asked(3, 5), outcome(0), 0)


def test_patches_beyond_what_was_computed_are_not_due() -> None:
    check_outcome(asked(3, 5), outcome(0), 0, last=4)


def test_a_source_that_a_rank_did_not_have_was_dropped() -> None:
    with pytest.raises(SourceRunDropped, match="'run'"):
        check_outcome(asked(3), outcome(missing=("run@1",)), 0)


def test_patched_positions_out_of_the_cache_are_an_error() -> None:
    check_outcome(asked(40, 32), outcome(0, 1), 32)
    with pytest.raises(HookNeverFired, match="position 32 is patched.*64"):
        check_outcome(asked(40, 32), outcome(0, 1), 64)
