"""Whole lines of files that others write to, from any byte on, and whether they are still there.

A file is known by device and inode while it is here, and by its first line in a copy. How far it
was read is a byte and a digest of what is before that byte (a *mark*): a file that was cut,
rewritten or replaced does not hold the mark, and is read again.

Blocking, unlike `runs.files`, which serves listeners on the event loop; blocks are small, so that
the interpreter's lock is given up often.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sonde.runs.files import BLOCK, LineFile, identity_of, open_lines
from sonde.runs.layout import RunLayout
from sonde.runs.lines import LINE_BYTES
from sonde.runs.listing import list_run

MARKED = 4096
"""How many bytes before it a mark is a digest of."""


@dataclass(frozen=True)
class Mark:
    """A byte up to which a file was read, and what was before it."""

    offset: int
    digest: str


@dataclass(frozen=True)
class LineBlock:
    """Whole lines of a file; none where a line was too long to be one."""

    start: int
    end: int
    data: bytes


def history(layout: RunLayout) -> list[Path]:
    """The files of records there are, oldest first.

    The live file is looked at before the others are listed: if it is closed in between, it is among
    those.
    """
    live = identity_of(layout.live)
    closed = list_run(layout).closed
    paths = [one.path for one in closed]
    if live is not None and live not in {one.identity for one in closed}:
        paths.append(layout.live)
    return paths


def opened(paths: list[Path]) -> list[LineFile]:
    """The files that can be opened, each once."""
    found: dict[tuple[int, int], LineFile] = {}
    for path in paths:
        file = open_lines(path)
        if file is None:
            continue
        if file.identity in found:
            file.close()
        else:
            found[file.identity] = file
    return list(found.values())


def mark(descriptor: int, offset: int) -> Mark:
    """Remember a byte."""
    start = max(0, offset - MARKED)
    before = os.pread(descriptor, offset - start, start)
    return Mark(offset, hashlib.blake2b(before, digest_size=8).hexdigest())


def holds(descriptor: int, marked: Mark) -> bool:
    """Whether everything up to a mark is, as far as can be told, as it was."""
    if os.fstat(descriptor).st_size < marked.offset:
        return False
    return mark(descriptor, marked.offset) == marked


def pieces(descriptor: int, start: int) -> Iterator[LineBlock]:
    """Whole lines from `start` to the end of what is there, a block at a time."""
    while (piece := _piece(descriptor, start)) is not None:
        yield piece
        start = piece.end


def _piece(descriptor: int, start: int) -> LineBlock | None:
    for count in (BLOCK, LINE_BYTES + 1):
        data = os.pread(descriptor, count, start)
        length = data.rfind(b"\n") + 1
        if length:
            return LineBlock(start, start + length, data[:length])
        if len(data) < count:
            return None
    return _too_long(descriptor, start)


def _too_long(descriptor: int, start: int) -> LineBlock | None:
    """Look for the end of a line that no record can be, without holding it."""
    at = start + LINE_BYTES
    while data := os.pread(descriptor, BLOCK, at):
        newline = data.find(b"\n")
        if newline >= 0:
            return LineBlock(start, at + newline + 1, b"")
        at += len(data)
    return None
