"""Lines on their way to a file: kept until they are in it, never written twice, bounded.

A chunk is what belongs together (the lines of one generation). Chunks wait until they are spilled;
when the file cannot be written they go on waiting, and when too much waits, new chunks are left out
whole and counted. A chunk leaves the spool only after the write that holds all of it has succeeded.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

from sonde.runs.append import AppendFile

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
        """Records that were left out because too much was waiting."""
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

    def spill(self) -> bool:
        """Write all that waits. Whether it succeeded; what could not be written waits on."""
        try:
            while self._waiting:
                self._spill_block()
        except OSError as failure:
            self.failure = failure
            return False
        self.failure = None
        return True

    def _spill_block(self) -> None:
        """Write the first chunks, with one write, and only then forget them."""
        size = count = 0
        for chunk in self._waiting:
            if count and size + len(chunk.lines) > BLOCK_BYTES:
                break
            size, count = size + len(chunk.lines), count + 1
        block = [self._waiting[place] for place in range(count)]
        self.file.append(b"".join(chunk.lines for chunk in block))
        for chunk in block:
            self._waiting.popleft()
            self._bytes -= len(chunk.lines)
            self.written += chunk.records
