"""Lines on their way to a file: kept until they are in it, never written twice, bounded.

A chunk is what belongs together (the lines of one generation). Chunks wait until they are spilled;
when the file cannot be written they go on waiting, and when too much waits, new chunks are left out
whole and counted. A line leaves the spool only once it is in the file.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

from sonde.runs.append import AppendFile, ShortWrite

WAITING_BYTES: Final = 32 * 2**20
BLOCK_BYTES: Final = 2**20
"""The most that one write takes, so that a nearly full disk still takes some."""


@dataclass(frozen=True)
class Chunk:
    """Whole lines that stay together, and how many records they are."""

    lines: bytes
    records: int


class Spool:
    """What waits for one file."""

    def __init__(self, file: AppendFile, capacity: int = WAITING_BYTES) -> None:
        self.file = file
        self.capacity = capacity
        self.written = 0
        """Records in the file, of those that came through here."""
        self.dropped = 0
        """Records that never get there: too much was waiting, or they were given up."""
        self.taken = 0
        """Chunks that were let wait so far."""
        self.failure: OSError | None = None
        """Why the last spill did not succeed."""
        self._waiting: deque[Chunk] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        """How many chunks wait."""
        return len(self._waiting)

    def has_room(self, chunk: Chunk) -> bool:
        """Whether a chunk can wait here. A single one always can, however large it is."""
        return not self._waiting or self._bytes + len(chunk.lines) <= self.capacity

    def put(self, chunk: Chunk) -> None:
        """Let a chunk wait for the next spill, or leave it out where too much waits already."""
        if not self.has_room(chunk):
            self.dropped += chunk.records
            return
        self._waiting.append(chunk)
        self._bytes += len(chunk.lines)
        self.taken += 1

    def spill(self, until: int | None = None) -> bool:
        """Write what waits: all of it, or the chunks that were among the first `until` taken.

        Whether it succeeded; what could not be written waits on.
        """
        try:
            while (left := self._left(until)) > 0:
                self._spill_block(left)
        except OSError as failure:
            self.failure = failure
            return False
        self.failure = None
        return True

    def give_up(self) -> None:
        """What still waits will not be written: count it."""
        self.dropped += sum(chunk.records for chunk in self._waiting)
        self._waiting.clear()
        self._bytes = 0

    def _left(self, until: int | None) -> int:
        """How many of the waiting chunks are to be written."""
        waiting = len(self._waiting)
        return waiting if until is None else until - (self.taken - waiting)

    def _spill_block(self, most: int) -> None:
        """Write the first chunks, with one write, and only then forget them."""
        size = count = 0
        for chunk in self._waiting:
            if count == most or (count and size + len(chunk.lines) > BLOCK_BYTES):
                break
            size, count = size + len(chunk.lines), count + 1
        block = b"".join(self._waiting[place].lines for place in range(count))
        try:
            self.file.append(block)
        except ShortWrite as short:
            self._forget(short.kept)
            raise
        self._forget(size)

    def _forget(self, size: int) -> None:
        """So many bytes at the front are in the file: chunks of them, or a chunk's first lines."""
        self._bytes -= size
        while size:
            chunk = self._waiting.popleft()
            if len(chunk.lines) > size:
                rest = chunk.lines[size:]
                self._waiting.appendleft(Chunk(rest, rest.count(b"\n")))
                self.written += chunk.records - rest.count(b"\n")
                return
            size -= len(chunk.lines)
            self.written += chunk.records
