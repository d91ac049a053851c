"""Models that were converted once, kept on disk.

A directory in the cache is complete or absent: it is written beside its place and renamed into it.
What a killed process leaves behind keeps its temporary name and is never read. Two processes that
convert at once both do the work, and the first to finish is kept.

Not for downloads: those stay in the Hugging Face cache, where other tools find them too.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from sonde.backends.torch.loading.reasons import one_line
from sonde.errors import BadRequest

VARIABLE = "SONDE_CACHE"


def cache_dir() -> Path:
    """`$SONDE_CACHE`, or where this platform keeps a user's caches."""
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "sonde"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "sonde"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sonde"


def place(name: str) -> Path:
    """Where the cache keeps the directory `name`, whether it is there or not."""
    return cache_dir() / "models" / name


def cached(name: str, build: Callable[[Path], None]) -> Path:
    """The cache's directory `name`; when there is none, the one that `build(directory)` fills."""
    target = place(name)
    if target.is_dir():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{name}.", dir=target.parent) as unfinished:
            build(Path(unfinished) / name)
            _publish(Path(unfinished) / name, target)
    except OSError as error:
        raise BadRequest(
            f"cannot write the model cache {target.parent}: {one_line(error)}; "
            f"set {VARIABLE} to a directory that can be written and has room"
        ) from error
    return target


def _publish(finished: Path, target: Path) -> None:
    try:
        finished.rename(target)
    except OSError:
        if not target.is_dir():  # not the race we know, where another process was first
            raise
