"""A trainer that writes at a given rate, and listeners that note when each record arrives.

Records are the contract's six keys in 527 bytes. The time of writing is in `token_index`, in
nanoseconds, so that a listener on the same machine knows how old a record is when it gets it.
"""

import json
import os
import random
import re
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

LENGTH = 527
SAMPLE = 1200
"""Bytes in which there is a whole record."""

_WRITTEN = re.compile(rb'"token_index": (\d{19})')


def record(step: int, seed: random.Random) -> bytes:
    """A line of 527 bytes with room for a time in it."""
    values = {
        "step": step,
        "token_index": 10**18,
        "layer_index": (0, 15)[step % 2],
        "top_feature_indices": [seed.randrange(10000, 65536) for _ in range(16)],
        "top_feature_activations": [round(seed.uniform(1, 9), 5) for _ in range(16)],
        "reconstruction_loss": 1.5,
    }
    text = json.dumps(values)
    digits = "5" * (LENGTH - len(text))
    line = text[:-1] + digits + "}\n"
    return line.encode()


class Lines:
    """Ready-made records; only the time is put in when they are written."""

    def __init__(self, count: int = 2000) -> None:
        seed = random.Random(1)
        halves = [record(step, seed).split(b"%d" % 10**18) for step in range(count)]
        self._halves = halves
        self._next = 0

    def take(self, count: int) -> bytes:
        """So many lines, written now."""
        now = b"%d" % time.time_ns()
        some = []
        for _ in range(count):
            before, after = self._halves[self._next % len(self._halves)]
            some += [before, now, after]
            self._next += 1
        return b"".join(some)


def write_at(path: Path, rate: int, seconds: float, burst: int = 1) -> int:
    """Append `rate` records a second, `burst` to a write. -> how many"""
    lines = Lines()
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    began = time.perf_counter()
    written = 0
    try:
        while (elapsed := time.perf_counter() - began) < seconds:
            due = int(elapsed * rate)
            while written < due:
                count = min(burst, due - written)
                os.write(descriptor, lines.take(count))
                written += count
            time.sleep(min(0.001, 0.5 / rate * burst))
    finally:
        os.close(descriptor)
    return written


LAST = 10**9
"""The step of the last record of a filled file."""


def fill(path: Path, count: int) -> None:
    """A file of so many records, the last of which can be told from the others."""
    block = Lines().take(2000)
    with path.open("wb") as file:
        for _ in range(count // 2000 - 1):
            file.write(block)
        file.write(block[: -LENGTH - 1])
        file.write(record(LAST, random.Random(2)))


@dataclass
class Heard:
    """What listeners got."""

    records: int = 0
    octets: int = 0
    ages: list[float] = field(default_factory=list)
    """Of the first and last record of what arrived together, in seconds."""


class Crowd:
    """Many listeners in one thread."""

    def __init__(self, url: str, count: int, path: str = "/api/p5/sae/stream?from=live") -> None:
        parts = urlsplit(url)
        self._address = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._request = f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode()
        self._selector = selectors.DefaultSelector()
        self.sockets = [self._connect() for _ in range(count)]
        self._buffer = bytearray(2**20)
        self._view = memoryview(self._buffer)
        self._rest = b""
        self.heard = Heard()
        self.stop = threading.Event()

    def _connect(self) -> socket.socket:
        connected = socket.create_connection(self._address)
        connected.sendall(self._request)
        connected.setblocking(False)
        self._selector.register(connected, selectors.EVENT_READ)
        return connected

    def listen(self, until: int | None = None, timeout: float = 60.0) -> Heard:
        """Take in what comes, until stopped or until everyone got so many records, on average."""
        heard = self.heard
        ends = time.monotonic() + timeout
        while not self.stop.is_set() and time.monotonic() < ends:
            for key, _ in self._selector.select(0.1):
                connected = key.fileobj
                assert isinstance(connected, socket.socket)
                count = connected.recv_into(self._buffer)
                if count == 0:
                    self._selector.unregister(connected)
                    continue
                self._note(self._view[:count], heard, counts=connected is self.sockets[0])
            if until is not None and heard.octets >= until * LENGTH * len(self.sockets):
                break
        return heard

    def _note(self, data: memoryview, heard: Heard, *, counts: bool) -> None:
        """Only one listener's records are counted: counting all would be slower than sending."""
        now = time.time_ns()
        heard.octets += len(data)
        if counts:
            self._rest += bytes(data)
            heard.records += self._rest.count(b'"token_index"')
            self._rest = self._rest[-12:]
        for some in (data[:SAMPLE], data[-SAMPLE:]):
            found = _WRITTEN.search(some)
            if found:
                heard.ages.append((now - int(found[1])) / 1e9)

    def close(self) -> None:
        """Hang up."""
        for connected in self.sockets:
            connected.close()
        self._selector.close()


@contextmanager
def in_background(crowd: Crowd) -> Iterator[Heard]:
    """Listen in a thread of this process while something else happens."""
    thread = threading.Thread(target=crowd.listen, kwargs={"timeout": 600})
    thread.start()
    try:
        yield crowd.heard
    finally:
        crowd.stop.set()
        thread.join()


def percentile(values: list[float], share: float) -> float:
    """The value that this share of values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")
