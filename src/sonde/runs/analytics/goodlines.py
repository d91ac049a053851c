"""Lines that are records, told apart from lines that are not, before DuckDB sees them.

DuckDB is lenient: it takes NaN, commas at the end, `"7"` for 7 and `1.5` for 2. Listeners are sent
only what is valid, so only that is counted here. The check builds three numbers a line and skips
the rest; whether feature lists are lists is asked of DuckDB, which has to build them anyway.
"""

from collections import deque
from dataclasses import dataclass
from typing import Annotated

import msgspec

from sonde.runs.analytics.reading import LineBlock
from sonde.runs.lines import BadLine, check

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]


class _Record(msgspec.Struct):
    step: _Count
    token_index: _Count
    layer_index: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


_decode = msgspec.json.Decoder(_Record).decode


@dataclass(frozen=True)
class GoodLines:
    """Records as they were written, without their newlines, and where they end in the file."""

    lines: list[bytes]
    withheld: int
    """Lines that are not blank and are no records."""
    end: int
    """The byte after the last line that was looked at, good or not."""


def records(piece: LineBlock, most: int) -> GoodLines:
    """The records among whole lines, up to so many; what comes after them is not looked at."""
    if not piece.data:
        return GoodLines([], 1, piece.end)
    lines = piece.data.split(b"\n")
    lines.pop()
    if _all_good(piece.data, lines):
        if len(lines) <= most:
            return GoodLines(lines, 0, piece.end)
        taken = lines[:most]
        return GoodLines(taken, 0, piece.start + sum(map(len, taken)) + most)
    return _sorted_out(piece, most)


def _all_good(data: bytes, lines: list[bytes]) -> bool:
    if b"\r" in data or not data.isascii():
        return False
    try:
        deque(map(_decode, lines), maxlen=0)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True


def _sorted_out(piece: LineBlock, most: int) -> GoodLines:
    checked = check(piece.data, piece.start)
    good = [
        (line, end)
        for line, end in zip(checked.lines, checked.ends, strict=True)
        if _is_record(line)
    ]
    if len(good) <= most:
        taken, end = good, piece.end
    else:
        taken = good[:most]
        end = taken[-1][1]
    before = sum(each < end for each in _places(checked.bad))
    read = sum(each <= end for each in checked.ends)
    return GoodLines([line for line, _ in taken], before + read - len(taken), end)


def _places(bad: list[BadLine]) -> list[int]:
    return [line.offset for line in bad]


def _is_record(line: bytes) -> bool:
    try:
        _decode(line)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True
