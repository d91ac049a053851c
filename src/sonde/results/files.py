"""Saving a result: the kind by suffix, and a file that is whole or not there."""

import os
import secrets
from pathlib import Path
from typing import Final

from sonde.errors import BadRequest

SUFFIXES: Final = (".png", ".svg", ".html", ".json", ".csv", ".parquet", ".tex")


def suffix_of(path: str | os.PathLike[str]) -> str:
    """The suffix that says what to write; also worth asking before a sweep that takes minutes."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise BadRequest(
            f"cannot save to {os.fspath(path)!r}: "
            f"suffix {suffix!r} is none of {', '.join(SUFFIXES)}"
        )
    return suffix


def check(path: str | os.PathLike[str]) -> Path:
    """Refuse a path that could not be saved to, before any work is done for it."""
    suffix_of(path)
    return _target(path)


def write(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write beside the target, then take its place: a reader sees the old file or the new one."""
    target = _target(path)
    draft = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with draft.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    except OSError as error:
        raise BadRequest(f"cannot write {os.fspath(path)!r}: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)
    return target


def _target(path: str | os.PathLike[str]) -> Path:
    target = Path(path)
    if target.is_dir():
        raise BadRequest(f"cannot write {os.fspath(path)!r}: it is a directory; name a file in it")
    if not target.parent.is_dir():
        raise BadRequest(
            f"cannot write {os.fspath(path)!r}: "
            f"there is no directory {os.fspath(target.parent)!r}; create it first"
        )
    return target
