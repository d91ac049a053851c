"""One run, one writer: a lock that ends with its process, however that ends.

The kernel holds it (`flock`), so a killed trainer leaves nothing to clean up. The file stays; what
is written in it tells a second writer whom to blame, and a reader whose kernel to ask.
"""

import fcntl
import os
import re
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sonde.errors import RunInUse

LOCK_NAME: Final = ".writer.lock"
TRIES: Final = 20
_WRITER = re.compile(r"process (\d{1,10}) on (\S{1,100})\s*")


@dataclass(frozen=True)
class Writer:
    """Who took a lock last; whether it still holds it, the kernel says."""

    process: int
    host: str


class WriterLock:
    """An exclusive hold on a run directory, for writing."""

    def __init__(self, directory: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._descriptor: int | None = os.open(directory / LOCK_NAME, flags, 0o644)
        self._owner = os.getpid()
        if not _taken(self._descriptor):
            holder = os.pread(self._descriptor, 200, 0).decode("ascii", "replace").strip()
            self.release()
            raise RunInUse(str(directory), holder or "an unknown process")
        os.ftruncate(self._descriptor, 0)
        name = f"process {self._owner} on {socket.gethostname()}\n"
        os.pwrite(self._descriptor, name.encode("ascii", "replace"), 0)
        # A forked child (a data loader's worker) would otherwise keep the lock after we are gone.
        os.register_at_fork(after_in_child=self._forget)

    def release(self) -> None:
        """Let another have it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _forget(self) -> None:
        """In a child: close the copy of the descriptor, which leaves the parent's lock alone."""
        if os.getpid() != self._owner:
            self.release()


def _taken(descriptor: int) -> bool:
    """Try for a moment: `holder` may be asking, which takes microseconds."""
    for _ in range(TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(0.01)
        else:
            return True
    return False


def holder(directory: Path) -> str | None:
    """Who writes to a run now, or None. Asks the kernel, not the file."""
    try:
        descriptor = os.open(directory / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return os.pread(descriptor, 200, 0).decode("ascii", "replace").strip()
    finally:
        os.close(descriptor)
    return None


def last_holder(directory: Path) -> Writer | None:
    """Who wrote to a run last, and where that was; None where there is no lock that says it."""
    try:
        descriptor = os.open(directory / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        said = os.pread(descriptor, 200, 0).decode("ascii", "replace")
    finally:
        os.close(descriptor)
    found = _WRITER.fullmatch(said)
    return Writer(int(found[1]), found[2]) if found else None
