"""Whole lines that are JSON objects, told apart from those that are not, a block at a time.

Every line is checked once per block, not once per listener, and passed on as it was written. The
check builds nothing: the parser skips over all values, at more than 1 GB/s. What is wrong with a
line is asked only in blocks that hold a bad one.

Good means what a browser's `JSON.parse` takes and readers expect: one object a line, UTF-8, no NaN.
Which keys it has is not asked here.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, count
from operator import add
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

Fault = Literal["not JSON", "not one object", "not UTF-8", "too long"]
Places = NDArray[np.int64]

LINE_BYTES = 2**20
"""A longer line is skipped: it is no record, and no buffer should have to hold it."""

MANY_BYTES = 32 * 1024
"""From here on it pays to treat a block as one array of bytes."""


@dataclass(frozen=True)
class BadLine:
    """A line that was withheld: where it begins, and why."""

    offset: int
    fault: Fault


class Lines:
    """The good lines of a block, without their newlines, and where in the file each ends."""

    def __init__(
        self, lines: Sequence[bytes] = (), ends: Sequence[int] = (), bad: Sequence[BadLine] = ()
    ) -> None:
        """`ends` are the bytes at which the next line begins after each."""
        self._lines, self._ends = list(lines), list(ends)
        self.bad = list(bad)

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def lines(self) -> list[bytes]:
        """The lines."""
        return self._lines

    @property
    def ends(self) -> list[int]:
        """Where the next line begins after each."""
        return self._ends


class WholeBlock(Lines):
    """A block in which every line is good, and which need not be taken apart."""

    def __init__(self, block: bytes, start: int, newlines: Places, *, ascii: bool = False) -> None:
        self.block = block
        """The lines with their newlines."""
        self.start = start
        self.newlines = newlines
        """Where they are in the block."""
        self.ascii = ascii
        """Known to be so; else it may be or not."""
        self.bad = []

    def __len__(self) -> int:
        return len(self.newlines)

    @cached_property
    def lines(self) -> list[bytes]:
        """The lines."""
        return self.block[:-1].split(b"\n")

    @cached_property
    def ends(self) -> list[int]:
        """Where the next line begins after each."""
        found: list[int] = (self.newlines + (self.start + 1)).tolist()
        return found


class _Object(msgspec.Struct, gc=False):
    """Any object: all keys are unknown, so all values are checked and skipped."""


class _Layer(msgspec.Struct, gc=False):
    layer_index: int | None = None


class _Step(msgspec.Struct, gc=False):
    step: int | None = None


_check = msgspec.json.Decoder(_Object)
_layers = msgspec.json.Decoder(_Layer)
_steps = msgspec.json.Decoder(_Step)
_OPEN, _CLOSE, _NEWLINE = b"{}\n"


def check(block: bytes, start: int) -> Lines:
    """Sort the lines of a block that ends with a newline and begins at byte `start` of a file."""
    ascii = block.isascii()
    plain = b"\r" not in block and (ascii or _is_utf8(block))
    if plain and len(block) >= MANY_BYTES and (newlines := _all_good(block)) is not None:
        return WholeBlock(block, start, newlines, ascii=ascii)
    lines = block.split(b"\n")
    lines.pop()
    try:
        deque(map(_check.decode, lines), maxlen=0)
    except (msgspec.MsgspecError, RecursionError):
        plain = False
    if not plain:
        return _one_by_one(lines, start)
    return Lines(lines, list(map(add, accumulate(map(len, lines)), count(start + 1))))


def layer_of(line: bytes) -> int | None:
    """The layer a good line is of; None where it does not say."""
    try:
        return _layers.decode(line).layer_index
    except msgspec.MsgspecError:
        return None


def step_of(line: bytes) -> int | None:
    """The step a line is of; None where it does not say, or is no good line."""
    try:
        return _steps.decode(line).step
    except (msgspec.MsgspecError, RecursionError):
        return None


def _all_good(block: bytes) -> Places | None:
    r"""Where the newlines are, if every line is one object; None when some line may not be.

    The parser takes values one after the other, however they are spread over lines. But inside a
    value `}` is never followed by `{`, so where every line break is `}\n{` no value crosses one,
    and as many values as lines means one on each.
    """
    array = np.frombuffer(block, np.uint8)
    newlines: Places = np.flatnonzero(array == _NEWLINE)
    whole = (
        array[0] == _OPEN
        and newlines[0] > 0
        and bool((array[newlines - 1] == _CLOSE).all())
        and bool((array[newlines[:-1] + 1] == _OPEN).all())
    )
    try:
        return newlines if whole and len(_values(block)) == len(newlines) else None
    except (msgspec.MsgspecError, RecursionError):
        return None


def _values(block: bytes) -> list[Any]:
    return _check.decode_lines(block)


def _one_by_one(lines: list[bytes], start: int) -> Lines:
    good: list[bytes] = []
    ends: list[int] = []
    bad: list[BadLine] = []
    for line in lines:
        end = start + len(line) + 1
        if line.strip():
            fault = fault_of(line)
            if fault is None:
                good.append(line.rstrip(b"\r").replace(b"\r", b" "))
                ends.append(end)
            else:
                bad.append(BadLine(start, fault))
        start = end
    return Lines(good, ends, bad)


def fault_of(line: bytes) -> Fault | None:
    """What is wrong with a line; None when nothing is."""
    if len(line) > LINE_BYTES:
        return "too long"
    if not _is_utf8(line):
        return "not UTF-8"
    try:
        _check.decode(line)
    except msgspec.ValidationError:
        return "not one object"
    except (msgspec.MsgspecError, RecursionError):
        return "not JSON"
    return None


def _is_utf8(block: bytes) -> bool:
    if block.isascii():
        return True
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True
