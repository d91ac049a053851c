"""Where compacted records are kept: with the run if that is possible, else elsewhere.

    <run>/.sonde/analytics-1
    $XDG_CACHE_HOME/sonde/analytics-1/<digest of the run's path>
    a folder of this process, gone with it

The first that can be written to, and whose disk has room: a trainer must not run out of it because
somebody looked at its run. All of it can be deleted at any time.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

VERSION = "analytics-1"
"""The form of what is kept; others are not looked at."""

ROOM = 2**30
"""A disk with less free than this is left alone."""


class Caches:
    """The places for one run, and a temporary one if all else fails."""

    def __init__(self, directory: Path, environ: dict[str, str] | None = None) -> None:
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self.candidates = [
            directory / ".sonde" / VERSION,
            _user_cache(environ or dict(os.environ)) / VERSION / _digest(directory),
        ]

    def existing(self) -> list[Path]:
        """Where something may have been kept before."""
        return [path for path in self.candidates if path.is_dir() and not _led_away(path)]

    def writable(self) -> Iterator[Path]:
        """Where something can be kept now, the best place first."""
        yield from filter(_has_room, self.candidates)
        yield self._own()

    def close(self) -> None:
        """Remove what was kept for this process only."""
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    def _own(self) -> Path:
        if self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(
                prefix="sonde-analytics-", ignore_cleanup_errors=True
            )
        return Path(self._temporary.name)


def _has_room(path: Path) -> bool:
    """Whether a folder is there, or can be made, that can be written to and has room."""
    if _led_away(path):
        return False
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return shutil.disk_usage(path).free >= ROOM
    except OSError:
        return False


def _led_away(path: Path) -> bool:
    """Whether the folder, or the one it is in, is a link: who put it there may mean harm."""
    return path.is_symlink() or path.parent.is_symlink()


def _user_cache(environ: dict[str, str]) -> Path:
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sonde"


def _digest(directory: Path) -> str:
    return hashlib.blake2b(str(directory.resolve()).encode(), digest_size=8).hexdigest()
