"""Long arrays by name, in memory or in files, read a slice at a time.

Files are read and not mapped: pages of a mapped file count as this process's memory, and looking up
features here and there in a large run would soon have it all.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[Any]
Whole = NDArray[np.int64]

NEAR = 4096
"""Slices that are no farther apart, in bytes, are read together."""


class Stored(Protocol):
    """Arrays of known types."""

    def read(self, name: str, start: int, end: int) -> Rows:
        """One slice."""
        ...

    def gather(self, name: str, starts: Whole, ends: Whole) -> Rows:
        """Several slices, in ascending order, end to end."""
        ...


@dataclass(frozen=True)
class InMemory:
    """Arrays that are here."""

    arrays: Mapping[str, Rows]

    def read(self, name: str, start: int, end: int) -> Rows:
        """One slice."""
        return self.arrays[name][start:end]

    def gather(self, name: str, starts: Whole, ends: Whole) -> Rows:
        """Several slices, in ascending order, end to end."""
        return self.arrays[name][places(starts, ends)]


@dataclass(frozen=True)
class OnDisk:
    """Arrays in files of their own: plain numbers, nothing before or after them."""

    directory: Path
    types: Mapping[str, np.dtype[Any]]

    def read(self, name: str, start: int, end: int) -> Rows:
        """One slice."""
        dtype = self.types[name]
        offset = start * dtype.itemsize
        return np.fromfile(self._path(name), dtype, end - start, offset=offset)

    def gather(self, name: str, starts: Whole, ends: Whole) -> Rows:
        """Several slices, in ascending order, end to end."""
        dtype = self.types[name]
        if not len(starts):
            return np.zeros(0, dtype)
        apart = (starts[1:] - ends[:-1]) * dtype.itemsize > NEAR
        first = np.flatnonzero(np.r_[True, apart])
        last = np.append(first[1:], len(starts)) - 1
        begin, end = starts[first], ends[last]
        taken = np.empty(int((end - begin).sum()), dtype)
        self._fill(self._path(name), taken, begin, end)
        moved = begin - (np.cumsum(end - begin) - (end - begin))
        shift = np.repeat(moved, last - first + 1)
        return taken[places(starts - shift, ends - shift)]

    def write(self, arrays: Mapping[str, Rows]) -> None:
        """Put arrays into their files."""
        for name, array in arrays.items():
            np.ascontiguousarray(array, self.types[name]).tofile(self._path(name))

    def _fill(self, path: Path, taken: Rows, begin: Whole, end: Whole) -> None:
        size = taken.dtype.itemsize
        view = memoryview(taken.view(np.uint8))  # type: ignore[arg-type]
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            at = 0
            for start, stop in zip((begin * size).tolist(), (end * size).tolist(), strict=True):
                got = os.preadv(descriptor, [view[at : at + stop - start]], start)
                if got != stop - start:
                    raise OSError(f"{path} ends before byte {stop}")
                at += stop - start
        finally:
            os.close(descriptor)

    def _path(self, name: str) -> Path:
        return self.directory / f"{name}.bin"


def places(starts: Whole, ends: Whole) -> Whole:
    """The numbers of some slices, end to end."""
    lengths = ends - starts
    shift = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    result: Whole = shift + np.arange(len(shift))
    return result
