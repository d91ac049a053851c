"""What was promised during a soak, and what must be true of it in the end."""

import math
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from statistics import quantiles

SLACK_BYTES = 192 * 2**20
SLACK_SHARE = 0.05
"""Memory is flat if it grows by no more than this from the second quarter to the last: a busy
server gives back what it has freed when that is a quarter of a gigabyte."""

LEAST_SAMPLES = 120
"""A minute of them. A server that has just begun grows: its first long texts and its first many
sweeps at once each take memory that it keeps."""

MOST_SHOWN = 20


@dataclass
class Down:
    """A time without a server, from a signal to the next start."""

    name: str
    until: float = math.inf


@dataclass
class Ledger:
    """Kept by all threads together."""

    wrong: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    promised: dict[str, set[str]] = field(default_factory=dict)
    """Sweep -> the states that it may be in, as far as its client knows."""
    downs: list[Down] = field(default_factory=list)
    """When there was no server."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def fault(self, what: str) -> None:
        """Something that must not be."""
        with self._lock:
            self.wrong.append(what)

    def count(self, what: str) -> int:
        """One more. -> how many requests there were"""
        with self._lock:
            self.counts[what] += 1
            return self.counts.total()

    def promise(self, sweep: str, *states: str) -> None:
        """A client heard of a sweep, and how it ended."""
        with self._lock:
            self.promised[sweep] = set(states)

    def down(self, name: str) -> None:
        """The server is told to end, now."""
        with self._lock:
            self.downs.append(Down(name))

    def up(self) -> None:
        """There is one again."""
        with self._lock:
            self.downs[-1].until = time.monotonic()

    def was_down(self, began: float, *names: str) -> bool:
        """Whether one of these signals may be why an answer asked for then did not come."""
        with self._lock:
            return any(each.until >= began and each.name in names for each in self.downs)

    def settle(self, history: dict[str, str]) -> None:
        """Compare what clients heard with what the history says."""
        for sweep, states in self.promised.items():
            found = history.get(sweep, "not there")
            if found not in states:
                self.fault(f"sweep {sweep} is {found} in the history; it should be {states}")
        for sweep, state in history.items():
            if state in ("waiting", "running"):
                self.fault(f"sweep {sweep} is {state} and nobody computes it")


def growth(samples: list[int]) -> tuple[int, int] | None:
    """What memory comes down to in the second quarter of a life, and in the last.

    The lowest tenth: a long text takes a gigabyte while it is read, and how many of them fall into
    a quarter is chance; what leaks stays below all of them. None for too short a life.
    """
    if len(samples) < LEAST_SAMPLES:
        return None
    quarter = len(samples) // 4
    second, last = samples[quarter : 2 * quarter], samples[-quarter:]
    return int(quantiles(second, n=10)[0]), int(quantiles(last, n=10)[0])


def is_flat(samples: list[int]) -> bool:
    """Whether memory did not grow."""
    found = growth(samples)
    return found is None or found[1] <= found[0] * (1 + SLACK_SHARE) + SLACK_BYTES
