"""The soak itself: what it would call wrong, and a short one that finds nothing."""

import argparse
import threading
from pathlib import Path

import pytest

from tests.soak.__main__ import soak
from tests.soak.ledger import LEAST_SAMPLES, SLACK_BYTES, Ledger, growth, is_flat
from tests.soak.listening import Listener

MIB = 2**20


def test_memory_that_grows_is_told_from_memory_that_is_used() -> None:
    warm = [100 * MIB] * 15 + [500 * MIB] * 105
    assert is_flat(warm)
    grows = [500 * MIB + n * 5 * MIB for n in range(LEAST_SAMPLES)]
    assert not is_flat(grows)
    assert growth(grows) is not None
    assert is_flat(grows[:-1]), "too short a life to tell"
    few, many = [500 * MIB, 500 * MIB, 1500 * MIB] * 20, [500 * MIB, 1500 * MIB, 1500 * MIB] * 20
    assert is_flat(few + many), "more of what is used, and nothing kept"
    leaks = [each + n * 8 * MIB for n, each in enumerate(few + few)]
    assert not is_flat(leaks)
    saw = [500 * MIB + (n % 8) * SLACK_BYTES // 8 for n in range(200)]
    assert is_flat(saw)


def test_a_sweep_that_is_lost_or_untrue_or_left_behind_is_a_fault() -> None:
    ledger = Ledger()
    ledger.promise("a", "finished")
    ledger.promise("b", "finished", "interrupted")
    ledger.promise("c", "finished")
    ledger.settle({"a": "finished", "b": "interrupted", "c": "finished"})
    assert ledger.wrong == []
    ledger.settle({"a": "interrupted", "b": "finished", "d": "running"})
    assert len(ledger.wrong) == 3


def test_a_connection_may_be_lost_only_while_there_is_no_server() -> None:
    ledger = Ledger()
    assert not ledger.was_down(0, "TERM", "KILL")
    ledger.down("TERM")
    assert ledger.was_down(0, "TERM")
    assert not ledger.was_down(0, "KILL")
    ledger.up()
    assert ledger.was_down(0, "TERM")
    assert not ledger.was_down(ledger.downs[0].until + 1, "TERM")


@pytest.mark.parametrize("numbers", [[0, 2], [0, 0], [1], [0, 1, 0]])
def test_a_record_that_is_missing_doubled_or_out_of_order_is_a_fault(numbers: list[int]) -> None:
    ledger = Ledger()
    listener = Listener("http://nowhere", 1, ledger, threading.Event())
    for number in numbers:
        listener._hear("message", f'{{"token_index": {number}}}')
    assert len(ledger.wrong) == 1


@pytest.mark.slow
def test_nothing_is_lost_in_a_minute_of_traffic_kills_and_full_disks(tmp_path: Path) -> None:
    given = {"minutes": 1.0, "requests": 5000, "kill_every": 10.0, "model": None, "seed": 1}
    said = soak(tmp_path, argparse.Namespace(**given))
    assert said["wrong"] == []
    assert said["requests"] > 50
    assert said["trainer"]["full"] > 0


@pytest.mark.slow
def test_11_memory_is_flat_over_mixed_requests(tmp_path: Path) -> None:
    """Large sweeps and texts of four megabytes among them; the full number is in the log."""
    given = {"minutes": 3.0, "requests": 1500, "kill_every": 0.0, "model": None, "seed": 2}
    said = soak(tmp_path, argparse.Namespace(**given))
    assert said["wrong"] == []
    assert said["kinds"]["long text"] > 2
