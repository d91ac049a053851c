"""Whole lines at the end of a file, and never half a one for long.

One `write` to a descriptor opened with O_APPEND, never through a buffer that could tear a line. Of
a write that comes up short (full disk, quota, size limit) the half line at its end is taken back,
and the whole ones stay: a reader may have them already. What a killed process left half-written is
cut off before the next line is added, so that no two lines ever fuse.

It does not keep readers from seeing half a line while it is being written: the kernel publishes a
file's size page by page, so readers hold back what follows the last newline.
"""

import errno
import os
from pathlib import Path
from typing import Final

BLOCK: Final = 64 * 1024


class ShortWrite(OSError):
    """Some of the lines are in the file; the others are not, and there is no room for them."""

    def __init__(self, kept: int, size: int, path: Path) -> None:
        super().__init__(errno.ENOSPC, f"{kept} of {size} bytes could be written", str(path))
        self.kept = kept
        """How many bytes of whole lines stay."""


class AppendFile:
    """One file that one process appends to. It is opened, and made, by the first append."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fragments_cut = 0
        """How many half-written lines of an earlier process were cut off."""
        self._descriptor: int | None = None
        self._unsynced = False

    def append(self, lines: bytes) -> None:
        """Add whole lines with one write.

        After a `ShortWrite` the first of them are there, after any other OSError none.
        """
        if not lines:
            return
        if not lines.endswith(b"\n"):
            raise ValueError("lines end with a newline")
        descriptor = self._opened()
        before = os.fstat(descriptor).st_size
        written = os.write(descriptor, lines)
        self._unsynced = True
        if written < len(lines):
            kept = lines.rfind(b"\n", 0, written) + 1
            try:
                os.ftruncate(descriptor, before + kept)
            except OSError:
                self.close()  # the next append opens it again, and cuts the half line off
            raise ShortWrite(kept, len(lines), self.path)

    def sync(self) -> None:
        """Return when what was appended would survive a power cut; at once if it does already."""
        if self._unsynced:
            os.fsync(self._opened())
            self._unsynced = False

    def close(self) -> None:
        """Let the file go; the next append opens whatever then has its name."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _opened(self) -> int:
        if self._descriptor is not None and self._replaced(self._descriptor):
            self.close()
        if self._descriptor is None:
            self.fragments_cut += cut_fragment(self.path)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._descriptor = os.open(self.path, flags, 0o644)
        return self._descriptor

    def _replaced(self, descriptor: int) -> bool:
        """Whether somebody removed or replaced the file: its descriptor would write to nowhere."""
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            return True
        return not os.path.samestat(there, os.fstat(descriptor))


def cut_fragment(path: Path) -> int:
    """Cut what follows the last newline. -> 1 if there was something, else 0"""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return 0
    try:
        size = os.fstat(descriptor).st_size
        whole = end_of_last_line(descriptor, size)
        if whole == size:
            return 0
        os.ftruncate(descriptor, whole)
        return 1
    finally:
        os.close(descriptor)


def end_of_last_line(descriptor: int, size: int) -> int:
    """Just behind the last newline before `size`, or 0 where there is none."""
    end = size
    while end > 0:
        start = max(0, end - BLOCK)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
