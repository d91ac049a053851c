"""The sweep owns what it captures: whatever happens, nothing of it is left behind."""

import time
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from sonde.engine import sweep
from sonde.errors import (
    BadRequest,
    CaptureFailed,
    EngineError,
    RequestTooLarge,
    SondeError,
    SourceRunDropped,
)
from sonde.schema import CLASSIC_HOOKS, Start, Summary
from tests.engine.questions import CLEAN, SHORT, events_of, from_zeros, request, summary_of
from tests.scripted import Scripted


def captured(backend: Scripted) -> Scripted:
    tokens = backend.tokenize(CLEAN)
    backend.capture("clean", tokens, CLASSIC_HOOKS, range(4), range(len(tokens)))
    backend.log.clear()
    return backend


def test_a_missing_run_is_captured_at_all_hooks_and_positions_of_the_swept_layers() -> None:
    backend = Scripted()
    held = []
    backend.before_chunk = lambda _: held.append(backend.runs["clean"][0])

    summary = summary_of(backend, request(layers=[2, 0, 2]))

    assert (summary.auto_captured, summary.captured_source_run) == (True, "clean")
    assert (held[0].hooks, held[0].layers) == (list(CLASSIC_HOOKS), [0, 2])
    assert held[0].positions == list(range(9))


def test_it_is_gone_before_the_summary_is_seen() -> None:
    backend = Scripted()
    for event in sweep(backend, request()):
        if isinstance(event, Summary):
            assert backend.runs == {}
            assert backend.leases == set()
        else:
            assert "clean" in backend.runs


def test_it_stays_when_asked_for_and_serves_another_hook() -> None:
    backend = Scripted()
    first = summary_of(backend, request(keep_source=True))
    assert list(backend.runs) == ["clean"]

    second = summary_of(backend, request(hook="mlp_in"))

    assert first.auto_captured
    assert not second.auto_captured
    assert second.captured_source_run is None
    assert list(backend.runs) == ["clean"]


def test_a_run_that_was_there_is_used_and_never_dropped() -> None:
    backend = captured(Scripted())

    summary = summary_of(backend, request())

    assert not summary.auto_captured
    assert "capture clean" not in backend.log
    assert "drop clean" not in backend.log
    assert list(backend.runs) == ["clean"]


def test_a_dropped_run_is_captured_again() -> None:
    backend = Scripted()
    first = summary_of(backend, request())

    assert summary_of(backend, request()).grid == first.grid
    assert backend.log.count("capture clean") == 2


def test_the_run_is_leased_while_the_sweep_goes_on() -> None:
    backend = captured(Scripted())
    held: list[set[tuple[str, str]]] = []
    backend.before_chunk = lambda _: held.append(set(backend.leases))

    summary_of(backend, request())

    assert all(len(leases) == 1 and next(iter(leases))[0] == "clean" for leases in held)
    assert backend.leases == set()


def test_a_long_sweep_renews_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = captured(Scripted(chunk=1))
    clock = iter(range(0, 10_000, 60))
    module = import_module("sonde.engine.trial")
    monkeypatch.setattr(module, "time", SimpleNamespace(**vars(time)))
    monkeypatch.setattr(module.time, "monotonic", lambda: float(next(clock)))

    summary_of(backend, request())

    assert backend.log.count("lease clean") > 2


def test_two_sweeps_hold_their_own_leases() -> None:
    backend = captured(Scripted())
    first, second = sweep(backend, request()), sweep(backend, request())
    next(first)
    next(second)
    assert len(backend.leases) == 2

    list(first)

    assert len(backend.leases) == 1
    assert isinstance(list(second)[-1], Summary)


@pytest.mark.parametrize("heard", [1, 2, 4])
@pytest.mark.parametrize("keep", [False, True])
def test_a_listener_who_leaves_stops_the_work_and_takes_everything_along(
    heard: int, keep: bool
) -> None:
    backend = Scripted(chunk=1)
    events: Any = sweep(backend, request(keep_source=keep))
    for _ in range(heard):
        next(events)

    events.close()

    assert backend.runs == {}
    assert backend.leases == set()
    assert "score ended" not in backend.log


def test_a_sweep_nobody_listens_to_does_nothing() -> None:
    backend = Scripted()
    sweep(backend, request())

    assert backend.log == []


@pytest.mark.parametrize(
    ("fields", "failing"),
    [
        ({"prompt": SHORT, "positions": [2]}, {}),  # check 21, nothing alignable
        ({"source_positions": [1]}, {}),  # explicit sources that do not fit
        ({}, {"lease clean": EngineError("no lease")}),
        ({}, {"capture own": EngineError("no room for the control")}),
        ({}, {"score": EngineError("the machine is on fire")}),
    ],
)
@pytest.mark.parametrize("keep", [False, True])
def test_a_failure_after_the_capture_drops_it(fields: Any, failing: Any, keep: bool) -> None:
    """Also a run that was to be kept: a sweep that failed leaves nothing behind."""
    backend = Scripted(failing=failing)

    with pytest.raises(SondeError):
        events_of(backend, request(keep_source=keep, **fields))

    assert "capture clean" in backend.log
    assert backend.runs == {}
    assert backend.leases == set()


def test_a_control_that_fails_drops_it() -> None:
    backend = Scripted(drift=1.0)
    with pytest.raises(SondeError):
        events_of(backend, request(keep_source=True))

    assert backend.runs == {}


def test_a_newer_run_of_the_same_name_is_somebody_elses() -> None:
    backend = Scripted()
    tokens = backend.tokenize(CLEAN)
    events: Any = sweep(backend, request())
    next(events)
    newer = backend.capture("clean", tokens, CLASSIC_HOOKS, [0], [0])

    events.close()

    assert backend.runs["clean"][0] == newer


def test_a_run_replaced_in_mid_sweep_ends_it() -> None:
    backend = Scripted(chunk=1)
    tokens = backend.tokenize(CLEAN)
    events = sweep(backend, request())
    next(events)
    backend.capture("clean", tokens, CLASSIC_HOOKS, range(4), range(9))

    with pytest.raises(SourceRunDropped, match="source dropped: run 'clean'"):
        list(events)


def test_a_run_dropped_while_the_sweep_waits_ends_it() -> None:
    backend = captured(Scripted())
    events = sweep(backend, request())
    assert isinstance(next(events), Start)

    backend.drop("clean")

    with pytest.raises(SourceRunDropped):
        list(events)
    assert backend.leases == set()


def test_a_run_that_vanished_before_it_was_leased_ends_it() -> None:
    class Forgetful(Scripted):
        def lease(self, run: str, holder: str) -> bool:
            return False

    with pytest.raises(SourceRunDropped):
        events_of(captured(Forgetful()), request())


def test_a_capture_that_fails_says_so() -> None:
    backend = Scripted(failing={"capture clean": BadRequest("the prompt has no tokens")})

    with pytest.raises(
        CaptureFailed, match=r"auto-capture of clean run 'clean' failed \(the prompt has"
    ):
        events_of(backend, request())
    assert backend.runs == {}


def test_a_run_that_is_too_large_is_refused_with_both_sizes() -> None:
    backend = Scripted(failing={"capture clean": RequestTooLarge("run 'clean'", 2, 1, "ask less")})

    with pytest.raises(RequestTooLarge, match="needs 2 bytes and the budget is 1 bytes; ask less"):
        events_of(backend, request())
    assert backend.runs == {}


def test_a_run_found_under_the_name_must_be_of_the_same_prompt() -> None:
    """Two sweeps at once may use one name for two prompts of one length: rows must never mix."""
    backend = Scripted()
    first = sweep(backend, request(keep_source=True))
    assert isinstance(next(first), Start)

    with pytest.raises(BadRequest, match="'clean' was captured from a 9-token prompt that is not"):
        events_of(backend, request(clean_prompt=CLEAN.replace("Eiffel", "Great")))
    assert isinstance(list(first)[-1], Summary)


def test_the_request_may_name_another_model_but_is_told_so() -> None:
    assert summary_of(Scripted(), request(model="scripted")).warnings == []
    (warning,) = summary_of(Scripted(), request(model="gpt")).warnings
    assert warning == "the request names model 'gpt'; this sweep ran on 'scripted'"


@pytest.mark.parametrize("make", [request, from_zeros])
def test_the_corrupt_prompts_own_run_is_always_dropped(make: Any) -> None:
    backend = Scripted()
    summary_of(backend, make(keep_source=True) if make is request else make())

    assert backend.log.count("capture own") == backend.log.count("drop own") == 1
    assert not any(name.endswith(".own") for name in backend.runs)


def test_without_room_for_it_the_sweep_runs_and_warns() -> None:
    backend = Scripted(failing={"capture own": RequestTooLarge("own", 2, 1, "raise source_budget")})

    summary = summary_of(backend, request())

    assert [control.kind for control in summary.controls] == ["alpha_zero"]
    assert any("no self-patch control" in warning for warning in summary.warnings)
