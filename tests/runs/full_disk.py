"""A disk that is full for a while, without root: the kernel's limit on the size of a file.

A write across the limit comes up short, as on a full disk, and the next one fails.
"""

import errno
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self


@contextmanager
def files_no_larger_than(n_bytes: int) -> Iterator[None]:
    """Inside the block no file grows beyond this."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


CHANGES = ("write", "fsync", "rename", "replace", "link", "ftruncate", "open", "mkdir")
"""Calls that a full disk, or one that is failing, may refuse."""


class Disk:
    """Refuses calls that change something, from one of them on and for so many of them.

    A refused write leaves half of its bytes when it is the first one refused, as a disk does that
    has some room left. Only calls inside `with disk:` are counted: what others write is not ours.
    """

    def __init__(self, first: int, count: int) -> None:
        self.first, self.count = first, count
        self.calls = 0
        self._real: dict[str, Callable[..., Any]] = {}

    @property
    def reached(self) -> bool:
        """Whether anything was refused."""
        return self.calls >= self.first

    def __enter__(self) -> Self:
        for name in CHANGES:
            self._real[name] = getattr(os, name)
            setattr(os, name, partial(self._call, name))
        return self

    def __exit__(self, *exception: object) -> None:
        for name, real in self._real.items():
            setattr(os, name, real)

    def _call(self, name: str, *given: Any, **named: Any) -> Any:
        real = self._real[name]
        if name == "open" and not given[1] & os.O_CREAT:
            return real(*given, **named)
        self.calls += 1
        if not self.first <= self.calls < self.first + self.count:
            return real(*given, **named)
        if name == "write" and self.calls == self.first:
            return real(given[0], given[1][: len(given[1]) // 2])
        raise OSError(errno.ENOSPC, "No space left on device", name)


@contextmanager
def no_room_in(path: Path) -> Iterator[None]:
    """Inside the block nothing can be written to this file; everybody else has room."""
    write = os.write

    def refused(descriptor: int, data: Any) -> int:
        if os.readlink(f"/proc/self/fd/{descriptor}") == str(path):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return write(descriptor, data)

    os.write = refused
    try:
        yield
    finally:
        os.write = write
