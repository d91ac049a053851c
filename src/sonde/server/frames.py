"""Lines of a run directory as server-sent events, a block at a time.

`sse` knows one frame; this file puts hundreds of lines into frames at once, without looking into
them: a line goes out as it was written. Each event has the id of the place after it. Bad lines are
a comment, which browsers ignore and people see.

A long block is not taken apart: every newline in it is replaced by what stands between two events,
with room for an id, and then all ids are filled in as arrays of digits. That is twice as fast as
putting events together one by one, and replay is what it matters for.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sonde.runs.blocks import Octets
from sonde.runs.lines import BadLine, Lines, Places, WholeBlock, layer_of
from sonde.server.sse import escape_breaks

BATCH_LIMIT = 10_000

COMMENTS = 10
"""A block of nothing but bad lines is not worth a comment each."""

_DIGITS = 12
"""Room for an offset in a long block; beyond 10¹² bytes events are put together one by one."""

# All numbers of four digits as text, each four bytes that are copied as one integer.
_FOUR = np.frombuffer(b"".join(b"%04d" % number for number in range(10_000)), np.uint32)


@dataclass(frozen=True, eq=False)
class Events:
    """One event a line, or, with `batch`, one event for up to so many, their data an array.

    Compared by identity, which is quick: listeners who want the same get the same one.
    """

    name: str | None = None
    layers: frozenset[int] | None = None
    batch: int = 1

    def encode(self, lines: Lines, before: bytes, after: bytes, name: str) -> tuple[int, Octets]:
        """See `runs.watched.Encoding`."""
        wanted = _of_layers(lines, self.layers)
        event = b"event: %b\n" % self.name.encode() if self.name else b""
        if self.batch > 1:
            made = _batches(wanted, self.batch, event, before, after)
        elif isinstance(wanted, WholeBlock) and wanted.start + len(wanted.block) < 10**_DIGITS:
            filled = _filled_in(wanted, event + b"id: " + before, after + b"\ndata: ")
            if wanted.ascii:
                return len(wanted), filled
            made = bytes(filled)
        else:
            form = b"%bid: %b%%d%b\ndata: %%b\n\n" % (event, _plain(before), _plain(after))
            made = b"".join(map(form.__mod__, zip(wanted.ends, wanted.lines, strict=True)))
        if lines.bad:
            made += b"".join(_comments(lines.bad, name))
        return len(wanted), escape_breaks(made)


@dataclass(frozen=True, eq=False)
class PlainLines:
    """The lines themselves: newline-delimited JSON."""

    layers: frozenset[int] | None = None

    def encode(self, lines: Lines, before: bytes, after: bytes, name: str) -> tuple[int, bytes]:
        """See `runs.watched.Encoding`."""
        if self.layers is None and isinstance(lines, WholeBlock):
            return len(lines), lines.block
        wanted = _of_layers(lines, self.layers).lines
        return len(wanted), b"\n".join([*wanted, b""]) if wanted else b""


def _filled_in(block: WholeBlock, before: bytes, after: bytes) -> bytearray:
    """Events of a long block; an offset goes between `before` and `after`."""
    head = before + b"0" * _DIGITS + after
    between = b"\n\n" + head
    made = bytearray(head)
    made += block.block.replace(b"\n", between)
    del made[-len(head) :]  # after the last event
    newlines, longer = block.newlines, len(between) - 1
    places = np.arange(len(newlines)) * longer + len(before)
    places[1:] += newlines[:-1] + 1  # where each line begins
    _write_digits(made, places, newlines + (block.start + 1))
    return made


def _write_digits(made: bytearray, places: Places, numbers: Places) -> None:
    """Write numbers of twelve digits, four at a time, wherever in the text they begin."""
    # A four-byte number at every byte of the text: they overlap, and any place can be written to.
    fours: NDArray[np.uint32] = np.ndarray(len(made) - 3, np.uint32, made, strides=(1,))
    high = numbers // 10**8
    rest = numbers - high * 10**8
    middle = rest // 10**4
    fours[places] = _FOUR[high]
    fours[places + 4] = _FOUR[middle]
    fours[places + 8] = _FOUR[rest - middle * 10**4]


def _plain(text: bytes) -> bytes:
    return text.replace(b"%", b"%%")


def _of_layers(lines: Lines, layers: frozenset[int] | None) -> Lines:
    if layers is None:
        return lines
    both = zip(lines.lines, lines.ends, strict=True)
    kept = [(line, end) for line, end in both if layer_of(line) in layers]
    return Lines([line for line, _ in kept], [end for _, end in kept], lines.bad)


def _batches(lines: Lines, size: int, event: bytes, before: bytes, after: bytes) -> bytes:
    parts = []
    for end, joined in _joined(lines, size):
        parts.append(b"%bid: %b%d%b\ndata: [%b]\n\n" % (event, before, end, after, joined))
    return b"".join(parts)


def _joined(lines: Lines, size: int) -> Iterator[tuple[int, bytes]]:
    """Lines with commas between, so many at a time, and where each lot ends in the file."""
    count = len(lines)
    lasts = [min(start + size, count) - 1 for start in range(0, count, size)]
    if isinstance(lines, WholeBlock):
        stops = [int(lines.newlines[last]) for last in lasts]
        for start, stop in zip([0, *(stop + 1 for stop in stops)], stops, strict=False):
            yield lines.start + stop + 1, lines.block[start:stop].replace(b"\n", b",")
        return
    for last in lasts:
        yield lines.ends[last], b",".join(lines.lines[last - last % size : last + 1])


def _comments(bad: list[BadLine], name: str) -> Iterable[bytes]:
    for line in bad[:COMMENTS]:
        text = f": bad line at byte {line.offset} of {name}, withheld: {line.fault}\n\n"
        yield text.encode()
    if len(bad) > COMMENTS:
        yield f": and {len(bad) - COMMENTS} more bad lines\n\n".encode()
