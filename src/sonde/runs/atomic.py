"""A small file that is replaced whole: readers see the old one or the new one, never a mixture.

Written beside its place, forced to disk, then renamed over it. What a killed process leaves behind
has a dot at the front and is never read.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Replace `path` by this value. NaN is refused: JSON has none."""
    text = json.dumps(value, indent=1, allow_nan=False)
    replace(path, f"{text}\n".encode())


def replace(path: Path, content: bytes) -> None:
    """Replace `path` by this content."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        _write(beside, content)
        os.replace(beside, path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def _write(path: Path, content: bytes) -> None:
    """Return when all of it is on disk."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o666)
    try:
        while content:  # one write, unless the disk is full: then the next says so
            content = content[os.write(descriptor, content) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(directory: Path) -> None:
    """Return when a rename or a new name in the directory would survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
