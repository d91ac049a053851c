"""Pairs in a file: JSON lines, each checked by itself and known by its number, from 1.

A file is read a line at a time, and a line that is too long is never held: a file is what others
wrote. An empty line is nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from pydantic import ValidationError

from sonde.errors import BadRequest
from sonde.schema.pair import PromptPair
from sonde.tasks.fitness import same_question, trouble

LINE_BYTES: Final = 2**20
FILE_BYTES: Final = 2**28
MOST: Final = 100_000
_NAMED = 5


@dataclass(frozen=True)
class Dropped:
    """A pair that was left out: its line in a file, or its number among pairs, and why."""

    number: int
    reason: str


def read(path: Path, *, drop: bool) -> tuple[list[PromptPair], list[Dropped]]:
    """The pairs of a file; what is wrong is refused by line, or left out and listed."""
    size = _size(path)
    if size > FILE_BYTES:
        raise BadRequest(
            f"{path} has {size:,} bytes; at most {FILE_BYTES:,} are read: split it into several"
        )
    good: list[PromptPair] = []
    bad: list[Dropped] = []
    seen: dict[str, int] = {}
    with path.open("rb") as file:
        for number, line in _lines(file):
            found = _pair(line)
            if isinstance(found, PromptPair):
                first = seen.setdefault(same_question(found), number)
                found = found if first == number else f"the same as line {first}"
            if isinstance(found, str):
                bad.append(Dropped(number, found))
            else:
                good.append(found)
    if len(good) > MOST:
        raise BadRequest(f"{path} has {len(good):,} pairs; at most {MOST:,} are read: split it")
    if bad and not drop:
        raise BadRequest(
            f"{path}: {named(bad, 'line')}; mend them, or leave them out (drop=True, --drop)"
        )
    if not good:
        raise BadRequest(f"{path} holds no pair" + (f": {named(bad, 'line')}" if bad else ""))
    return good, bad


def write(path: Path, pairs: Iterable[PromptPair]) -> None:
    """One pair a line, as `read` takes it."""
    path.write_text("".join(f"{as_line(pair)}\n" for pair in pairs), encoding="utf-8")


def as_line(pair: PromptPair) -> str:
    """A pair as JSON, without what it does not have."""
    return pair.model_dump_json(exclude_defaults=True)


def named(dropped: list[Dropped], what: str) -> str:
    """The first few by number, and how many more."""
    first = "; ".join(f"{what} {each.number}: {each.reason}" for each in dropped[:_NAMED])
    more = len(dropped) - _NAMED
    return first + (f"; and {more} more" if more > 0 else "")


def _size(path: Path) -> int:
    if not path.is_file():
        raise BadRequest(f"there is no file {path}")
    return path.stat().st_size


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Line by line; None for one that is too long."""
    number = 0
    while line := file.readline(LINE_BYTES + 1):
        number += 1
        whole = line.endswith(b"\n") or len(line) <= LINE_BYTES
        rest = line
        while not rest.endswith(b"\n") and (rest := file.readline(LINE_BYTES)):
            pass
        if not whole:
            yield number, None
        elif line.strip():
            yield number, line


def _pair(line: bytes | None) -> PromptPair | str:
    """The pair of a line, or what is wrong with it."""
    if line is None:
        return f"longer than {LINE_BYTES:,} bytes"
    try:
        pair = PromptPair.model_validate_json(line)
    except ValidationError as error:
        return _first(error)
    return trouble(pair) or pair


def _first(error: ValidationError) -> str:
    """The first thing that is wrong, on one line."""
    first = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"][:2])
    if first["type"] == "missing":
        return f"field {where!r} is missing"
    if first["type"] == "extra_forbidden":
        return f"there is no field {where!r}"
    said = " ".join(first["msg"].split())
    return f"{where}: {said}" if where else said
