"""What a resume has cut off a file and set aside: put back, to know one file from another.

A resume sets lines of later steps aside before it cuts them off. So a file that lost its end, and
was not cut by one, was begun anew: its beginning may well be the same, and says nothing.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from sonde.runs.files import CHECK, LineFile, check_of
from sonde.runs.layout import RunLayout, abandoned_at
from sonde.runs.rotation import first_after


def was_cut(layout: RunLayout, records: LineFile, end: int, check: str) -> bool:
    """Whether a resume cut off the end of this file, and the place is of before that.

    Looks at the folder itself: a tail is there before its file is cut, a listing may be older.
    """
    tails = (path for path in layout.segments.glob("abandoned-*") if abandoned_at(path.name))
    return _cut_at(records, records.whole_size(), tails, end, check)


def in_companion(layout: RunLayout, file: LineFile, offset: int, end: int, check: str) -> int:
    """Where to go on in a companion that no longer holds a place. Blocks: call it in a thread.

    A resume has cut lines off, kept them aside, and written others since. The cut is where steps
    begin that are later than the one resumed from, and it is the right one if what stood before the
    place is put together again from both sides of it. If it is none of these, the file is somebody
    else's and begins anew.
    """
    tails = layout.segments.glob(f"abandoned-*.{file.path.name}")
    for tail in sorted(tails, key=_number, reverse=True):
        cut = first_after(file.path, _number(tail)[0])
        if cut <= end and _cut_at(file, cut, [tail], end, check):
            return min(offset, cut)
    return 0


def _cut_at(kept: LineFile, cut: int, tails: Iterable[Path], end: int, check: str) -> bool:
    """Whether one of the tails, put back at the cut, gives what stood before byte `end`."""
    return any(check_of(_joined(kept, cut, tail, end)) == check for tail in tails)


def _joined(kept: LineFile, cut: int, tail: Path, end: int) -> bytes:
    """What stood right before byte `end` when the tail had not been cut off yet."""
    start = max(0, end - CHECK)
    try:
        with tail.open("rb") as aside:
            before = os.pread(kept.descriptor, max(0, cut - start), start)
            aside.seek(max(0, start - cut))
            return before + aside.read(end - max(start, cut))
    except OSError:  # gone since it was listed
        return b""


def _number(tail: Path) -> tuple[int, int]:
    """The step resumed from, and the number, of `abandoned-50-0.generations.jsonl`."""
    step, number = tail.name.partition(".")[0].split("-")[1:3]
    return int(step), int(number)
