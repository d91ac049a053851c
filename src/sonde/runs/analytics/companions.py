"""A small file beside the records, read as it grows, a typed line at a time.

A file that was cut or replaced, as on resume, is read again from its start, and a reader that keeps
its lines is told that those of before are void.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from sonde.runs.analytics.reading import Mark, holds, mark, pieces
from sonde.runs.files import Identity, open_lines
from sonde.runs.lines import check

Line = TypeVar("Line")


@dataclass(frozen=True)
class LineAt(Generic[Line]):
    """A line that was understood, and where in the file it is."""

    value: Line
    start: int
    length: int


class Companion(Generic[Line]):
    """One file, read up to a mark."""

    def __init__(self, path: Path, kind: type[Line]) -> None:
        self.path = path
        self.there = False
        """Whether there is such a file."""
        self.withheld = 0
        """Lines that are not valid, or not what belongs here."""
        self._decode = msgspec.json.Decoder(kind).decode
        self._identity: Identity | None = None
        self._mark = Mark(0, "")

    def advance(self) -> tuple[bool, list[LineAt[Line]]]:
        """Read on. -> whether all that was read before is void, and what is new"""
        file = open_lines(self.path)
        self.there = file is not None
        if file is None:
            void, self._identity, self._mark = self._mark.offset > 0, None, Mark(0, "")
            return void, []
        try:
            same = file.identity == self._identity and holds(file.descriptor, self._mark)
            void = not same and self._mark.offset > 0
            offset = self._mark.offset if same else 0
            self.withheld = self.withheld if same else 0
            found: list[LineAt[Line]] = []
            for piece in pieces(file.descriptor, offset):
                found += self._understood(piece.data, piece.start)
                offset = piece.end
            self._identity, self._mark = file.identity, mark(file.descriptor, offset)
            return void, found
        finally:
            file.close()

    def _understood(self, data: bytes, start: int) -> list[LineAt[Line]]:
        if not data:
            self.withheld += 1
            return []
        lines = check(data, start)
        self.withheld += len(lines.bad)
        found = []
        for line, end in zip(lines.lines, lines.ends, strict=True):
            try:
                found.append(LineAt(self._decode(line), end - len(line) - 1, len(line)))
            except msgspec.MsgspecError:
                self.withheld += 1
        return found
