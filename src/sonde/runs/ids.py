"""Event ids: where a listener is, in a form that means the same to any gateway at any time.

    <run>.<after>.<file>.<offset>.<end>-<check>     4be0c1f2.100.5e884898da28.527000.80b00-77bd9ea0
    <run>.<after>.<file>.<offset>.<end>-<check>~g<file>.<offset>.<end>-<check>~m…

`run` is a digest of the run's id, `after` the segment before the file, `file` the digest of the
file's first line, `offset` the byte after the line that was sent. Lines are sent a block at a time:
`end` is where the block ended, in hexadecimal, and `check` a digest of what stood right before that
byte, because a file that is begun anew may well begin with the same line. Ids without it are taken
too. A live file that becomes a segment keeps its first line and the segment before it, so its ids
stay right; nothing has to be remembered between restarts, and two gateways agree. What follows a
`~` is the place in a companion file.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sonde.errors import BadRequest
from sonde.runs.layout import SegmentKey

Companion = Literal["generation", "metrics", "health"]

LETTERS: dict[Companion, str] = {"generation": "g", "metrics": "m", "health": "h"}

NOWHERE = "0"
"""Before the first line of a run that has none yet."""

_FILE = r"([0-9a-f]{12})\.([0-9]{1,18})(?:\.([0-9a-f]{1,15})-([0-9a-f]{8}))?"
_RECORDS = re.compile(rf"([0-9a-f]{{8}}|-)\.((?:[0-9]{{1,18}}(?:-[0-9]{{1,9}})?)?)\.{_FILE}")
_COMPANION = re.compile(rf"([gmh]){_FILE}")
_NAMES = {letter: name for name, letter in LETTERS.items()}


@dataclass(frozen=True)
class FileOffset:
    """A byte of the file with this fingerprint."""

    file: str
    offset: int
    end: int | None = None
    """Where what was read then ended; None in ids of before there were checks."""
    check: str | None = None

    @property
    def text(self) -> str:
        """As ids write it."""
        said = "" if self.end is None or not self.check else check_text(self.end, self.check)
        return f"{self.file}.{self.offset}{said}"


@dataclass(frozen=True)
class StreamPosition:
    """Where a listener is in the records of a run, and in the companions it asked for."""

    run: str = "-"
    after: SegmentKey | None = None
    records: FileOffset | None = None
    companions: Mapping[Companion, FileOffset] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The id of the place in the records."""
        if self.records is None:
            return NOWHERE
        return ".".join([self.run, key_text(self.after), self.records.text])


def run_digest(run_id: str | None) -> str:
    """Eight digits for a run's id; `-` for a run that has none."""
    return hashlib.blake2b(run_id.encode(), digest_size=4).hexdigest() if run_id else "-"


def parse_id(text: str) -> StreamPosition:
    """The place an id stands for."""
    head, *rest = text[:400].split("~")
    found = _RECORDS.fullmatch(head)
    named = [_COMPANION.fullmatch(part) for part in rest]
    if not (found or head == NOWHERE) or not all(named):
        raise BadRequest(
            f"{text[:80]!r} is not the id of an event; use one that the stream sent, "
            "'start' for the whole run, or 'live' for what comes next"
        )
    companions = {_NAMES[part[1]]: _place(*part.group(2, 3, 4, 5)) for part in named if part}
    if found is None:
        return StreamPosition(companions=companions)
    return StreamPosition(
        found[1], parse_key(found[2]), _place(*found.group(3, 4, 5, 6)), companions
    )


def _place(file: str, offset: str, end: str | None, check: str | None) -> FileOffset:
    return FileOffset(file, int(offset), int(end, 16) if end else None, check)


def check_text(end: int, check: str) -> str:
    """What follows an offset: up to where lines were read, and what stood there."""
    return f".{end:x}-{check}"


def key_text(key: SegmentKey | None) -> str:
    """A segment as ids write it."""
    if key is None:
        return ""
    return f"{key[0]}-{key[1]}" if key[1] else str(key[0])


def companion_text(name: Companion, place: FileOffset) -> str:
    """The part of an id that is about one companion file."""
    return f"~{LETTERS[name]}{place.text}"


def parse_key(text: str) -> SegmentKey | None:
    """The other way round."""
    if not text:
        return None
    step, _, again = text.partition("-")
    return int(step), int(again or 0)
