"""What was freed is given back: when, and that it is."""

import subprocess
import sys

import pytest

from sonde.server.memory import BUSY_BYTES, BUSY_SECONDS, IDLE_BYTES, Trimming, resident_bytes


class Process:
    """A process that grows as it is told, and shrinks when it is trimmed."""

    def __init__(self) -> None:
        self.used, self.kept, self.trimmed = 1000, 0, 0

    def resident(self) -> int | None:
        return self.used + self.kept

    def trim(self) -> None:
        self.kept = 0
        self.trimmed += 1


def test_11_an_idle_server_gives_back_what_is_worth_it() -> None:
    process = Process()
    trimming = Trimming(process.resident, process.trim)
    assert not trimming.look(0, idle=True)
    process.kept = IDLE_BYTES - 1
    assert not trimming.look(1, idle=True)
    process.kept = IDLE_BYTES
    assert trimming.look(2, idle=True)
    assert (process.trimmed, process.kept) == (1, 0)


def test_11_a_busy_server_gives_back_only_what_is_much_and_seldom() -> None:
    process = Process()
    trimming = Trimming(process.resident, process.trim)
    trimming.look(0, idle=False)
    process.kept = BUSY_BYTES
    assert not trimming.look(BUSY_SECONDS / 2, idle=False)
    assert trimming.look(BUSY_SECONDS, idle=False)
    process.kept = BUSY_BYTES - 1
    assert not trimming.look(3 * BUSY_SECONDS, idle=False)


def test_11_what_was_in_use_in_the_middle_of_work_is_given_back_at_rest() -> None:
    """A look in the middle of work finds next to nothing free: that is not what is needed."""
    process = Process()
    trimming = Trimming(process.resident, process.trim)
    trimming.look(0, idle=True)
    process.used += 3 * BUSY_BYTES
    assert trimming.look(BUSY_SECONDS, idle=False)
    process.used, process.kept = process.used - 3 * BUSY_BYTES, 3 * BUSY_BYTES
    assert trimming.look(BUSY_SECONDS + 1, idle=True)
    assert (process.trimmed, process.kept) == (2, 0)


def test_what_is_in_use_is_not_looked_for_again_and_again() -> None:
    process = Process()
    trimming = Trimming(process.resident, process.trim)
    trimming.look(0, idle=True)
    process.used += 10 * BUSY_BYTES
    looks = [trimming.look(BUSY_SECONDS * n, idle=True) for n in range(1, 5)]
    assert looks == [True, False, False, False]


def test_where_the_system_does_not_say_nothing_is_done() -> None:
    process = Process()
    assert not Trimming(lambda: None, process.trim).look(0, idle=True)


KEPT = """
import threading
from sonde.server.memory import resident_bytes, trim
before = resident_bytes()
def work():
    made = [bytes(100_000) for _ in range(3000)]
    rest = [made.pop(n) for n in range(0, 1500, 15)]
    kept.append(rest)
kept = []
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
grown = resident_bytes() - before
kept.clear()
trim()
print(grown, resident_bytes() - before)
"""


@pytest.mark.skipif(resident_bytes() is None, reason="this system does not say")
def test_11_memory_that_threads_kept_is_really_given_back() -> None:
    done = subprocess.run(
        [sys.executable, "-c", KEPT], capture_output=True, text=True, timeout=60, check=True
    )
    _, after = map(int, done.stdout.split())
    assert after < 64 * 2**20
