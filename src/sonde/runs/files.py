"""One open file of lines that others write to: read by whole lines, watched for being rewritten.

It is opened once however many listeners read it, and stays readable after it is renamed, replaced
or deleted. What tells one file from another, here and in event ids, is its inode while it is open
and its first line (the *fingerprint*) after that: both stay as they are when a live file becomes a
segment, and the fingerprint also when a directory is copied. A run that is started again in place
begins with the same line, so what stands right before a place is compared as well (its *check*).

Reading never waits for a disk on the event loop: what is not in memory is fetched by a thread.
Nothing here knows what the lines mean or who wants them.
"""

import asyncio
import errno
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sonde.runs.append import end_of_last_line
from sonde.runs.lines import LINE_BYTES, step_of

BLOCK = 512 * 1024
"""Files are read in blocks that end at the last line before a multiple of this."""

HEAD = 4096
"""The fingerprint is taken over the first line, or over this much of a longer one."""

TAIL = 4096
"""How much of what was read last is compared with what is there now."""

CHECK = 1024
"""How many bytes before a place its check is taken over."""

Identity = tuple[int, int]
"""Device and inode."""

Change = Literal["no", "cut", "rewritten"]
Holding = Literal["yes", "shorter", "no"]


@dataclass(frozen=True)
class Block:
    """Whole lines of a file, or the place of one that is too long to be read."""

    start: int
    end: int
    data: bytes
    too_long: bool = False


class LineFile:
    """An open file and what is known of it."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self.descriptor = descriptor
        self.path = path
        found = os.fstat(descriptor)
        self.identity: Identity = (found.st_dev, found.st_ino)
        self.users = 0
        self.epoch = 0
        """How often the file was seen to begin anew; a place in it is of one epoch."""
        self.whole_end = 0
        """Where the last whole line ends that anyone has read in this epoch."""
        self.cuts: list[int] = []
        """Where it ended each time its end was seen to be missing."""
        self.nothing = (-1, 0)
        """A byte from which no line was whole, and at which look that was."""
        self.fingerprint: str | None = None
        self.after = ""
        """The segment before this file in the run's history."""
        self._head = b""
        self._reached, self._tail = 0, b""
        """The last byte that anyone is at, and what stands before it."""
        self._last_step = (0, 0)
        self._scanned: dict[int, int] = {}
        self._buffer = bytearray()
        self._nowait = hasattr(os, "preadv") and hasattr(os, "RWF_NOWAIT")
        self.find_head()

    @property
    def reached(self) -> tuple[int, str]:
        """The last byte that anyone is at, and the check of it."""
        return self._reached, check_of(self._tail)

    @property
    def size(self) -> int:
        """How long it is now; some of that may be half a line."""
        return os.fstat(self.descriptor).st_size

    def close(self) -> None:
        """Nobody reads it any more."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def find_head(self) -> None:
        """Learn the fingerprint, once the first line is whole."""
        if self.fingerprint is None:
            self._head = _first_line(os.pread(self.descriptor, HEAD, 0))
            if self._head:
                self.fingerprint = hashlib.blake2b(self._head, digest_size=6).hexdigest()

    def changed(self) -> Change:
        """Whether what was read is still there: `cut` when only the end is missing."""
        size = self.size
        if not size or os.pread(self.descriptor, len(self._head), 0) != self._head:
            return "rewritten" if self._head or self._reached else "no"
        if size < self._reached:
            return "cut"
        tail = os.pread(self.descriptor, len(self._tail), self._reached - len(self._tail))
        return "no" if tail == self._tail else "rewritten"

    def was_read(self, block: Block) -> None:
        """Take note of what somebody has read."""
        self.whole_end = max(self.whole_end, block.end)
        if block.start == self._reached and not block.too_long:
            self._reached, self._tail = block.end, (self._tail + block.data)[-TAIL:]
        else:
            self.reach(block.end)

    def reach(self, place: int) -> None:
        """Take note that somebody is at this byte: what stands before it must stay as it is."""
        if place > self._reached:
            self._reached, self._tail = place, self._before(place)

    def _before(self, place: int) -> bytes:
        return os.pread(self.descriptor, min(place, TAIL), max(0, place - TAIL))

    def check(self, end: int) -> str:
        """A digest of what stands right before a byte."""
        return check_of(os.pread(self.descriptor, min(end, CHECK), max(0, end - CHECK)))

    def holds(self, offset: int, end: int | None, check: str | None) -> Holding:
        """Whether a place is still in this file: a byte after a line, in what was read up to `end`.

        `shorter` when the file ends before what was read did. Without a check, as far as can be
        told.
        """
        if end is None or check is None:
            return "yes" if self.fits(offset) else "shorter" if offset > self.size else "no"
        if self.size < end:
            return "shorter"
        return "yes" if self.check(end) == check and self.fits(offset) else "no"

    def begin_anew(self) -> None:
        """Forget what was known: the file was rewritten."""
        self.epoch += 1
        self.whole_end = 0
        self._reached, self._tail = 0, b""
        self.fingerprint, self._head = None, b""
        self._scanned.clear()
        self.find_head()

    def cut(self) -> None:
        """Take note that lines at the end are gone and those before it are not."""
        end = self.whole_size()
        self.whole_end, self._reached = min(self.whole_end, end), min(self._reached, end)
        self._tail = self._before(self._reached)
        self.cuts.append(end)

    def whole_size(self) -> int:
        """Where the last whole line ends, found from the end of the file."""
        return end_of_last_line(self.descriptor, self.size)

    def last_step(self) -> int:
        """The step of the last whole line; 0 where that says none."""
        end = self.whole_size()
        if self._last_step[0] != end:
            data = os.pread(self.descriptor, min(end, LINE_BYTES), max(0, end - LINE_BYTES))
            line = data[:-1].rpartition(b"\n")[2]
            self._last_step = (end, step_of(line) or 0)
        return self._last_step[1]

    def fits(self, offset: int) -> bool:
        """Whether a line can begin at this byte."""
        if offset == 0:
            return True
        return offset <= self.size and os.pread(self.descriptor, 1, offset - 1) == b"\n"

    async def read(self, start: int) -> Block | None:
        """The whole lines from `start` to the end of its block; None when there are none yet."""
        if start in self._scanned:
            return await self._skip(start)
        first = _to_boundary(start)
        for count in (first, min(first + BLOCK, LINE_BYTES + 1), LINE_BYTES + 1):
            data = await self._bytes(start, count, whole_lines=True)
            if data.endswith(b"\n"):
                return Block(start, start + len(data), data)
            if len(data) < count:
                return None
        self._scanned[start] = start + LINE_BYTES
        return await self._skip(start)

    async def _skip(self, start: int) -> Block | None:
        """Look for the end of a line that is too long, a block at a time."""
        while data := await self._bytes(self._scanned[start], BLOCK):
            newline = data.find(b"\n")
            if newline >= 0:
                end = self._scanned.pop(start) + newline + 1
                return Block(start, end, b"", too_long=True)
            self._scanned[start] += len(data)
            await asyncio.sleep(0)
        return None

    async def _bytes(self, start: int, count: int, *, whole_lines: bool = False) -> bytes:
        """Up to so many bytes: what is in memory at once, or what a thread fetches.

        With `whole_lines`, only up to the last newline, where there is one.
        """
        if self._nowait:
            count = min(count, max(0, self.size - start))
            if len(self._buffer) < count:
                self._buffer = bytearray(max(count, BLOCK))
            view = memoryview(self._buffer)[:count]
            try:
                got = os.preadv(self.descriptor, [view], start, os.RWF_NOWAIT)
            except OSError as error:
                self._nowait = error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)
                got = -1
            if got == count:
                end = self._buffer.rfind(b"\n", 0, count) + 1 if whole_lines else 0
                return bytes(view[: end or count])
        data = await asyncio.to_thread(os.pread, self.descriptor, count, start)
        end = data.rfind(b"\n") + 1 if whole_lines else 0
        return data[: end or count]


def open_lines(path: Path) -> LineFile | None:
    """Open a plain file, never through a link; None when there is none or it may not be read."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags)
    except OSError:
        return None
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return LineFile(descriptor, path)
    except OSError:
        pass  # vanished under a network file system; as if it had not been there
    os.close(descriptor)
    return None


def check_of(before: bytes) -> str:
    """The check of a place, from the bytes before it."""
    return hashlib.blake2b(before[-CHECK:], digest_size=4).hexdigest()


def identity_of(path: Path) -> Identity | None:
    """Which file has this name now."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _to_boundary(start: int) -> int:
    """Bytes to the next multiple of the block that a line may fit before.

    Listeners that come from different places then agree where blocks begin and end.
    """
    count = BLOCK - start % BLOCK
    return count if count >= HEAD else count + BLOCK


def _first_line(data: bytes) -> bytes:
    """The first line that is not blank, with what is before it; empty until it is whole."""
    end = 0
    while (newline := data.find(b"\n", end)) >= 0:
        if data[end:newline].strip():
            return data[: newline + 1]
        end = newline + 1
    return data if len(data) == HEAD else b""
