"""One server, one data directory: a lock that ends with its process, however that ends.

The kernel holds it (`flock`), so a killed server leaves nothing to clean up. The file stays; what
is written in it only tells a second server whom to blame.
"""

import fcntl
import os
import time
from pathlib import Path

from sonde.errors import DataDirectoryError, DataDirectoryInUse

LOCK_NAME = "lock"


class DirectoryLock:
    """An exclusive hold on a directory, made if it is not there (for its owner's eyes only).

    `patience` is how many seconds another may still hold it: some hold it for a moment only.
    """

    def __init__(self, directory: Path, patience: float = 0.0) -> None:
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._descriptor: int | None = os.open(directory / LOCK_NAME, flags, 0o600)
        except OSError as error:
            raise DataDirectoryError(
                f"cannot use data directory {str(directory)!r}: {error.strerror}; "
                "choose one that can be written with --data-dir"
            ) from error
        try:
            _lock(self._descriptor, patience)
        except OSError as error:
            holder = os.pread(self._descriptor, 20, 0).decode("ascii", "replace").strip()
            self.release()
            raise DataDirectoryInUse(str(directory), holder or "unknown") from error
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let another have it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _lock(descriptor: int, patience: float) -> None:
    until = time.monotonic() + patience
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise
        time.sleep(0.02)
