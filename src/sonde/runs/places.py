"""From where a listener wants to begin, or stopped, to a byte of a file.

An id is looked up where its file must be: right after the segment that was before it, whether it
is still live or a segment by now. Only if it is not there are the others searched. What was cut
away, set aside or replaced meanwhile is not guessed at: the listener gets what is there now, and
the reason.
"""

from dataclasses import dataclass
from typing import Literal

from sonde.runs.files import LineFile
from sonde.runs.ids import FileOffset, StreamPosition
from sonde.runs.listing import Closed
from sonde.runs.tails import was_cut
from sonde.runs.watched import WatchedRun

Begin = Literal["active", "start", "live"]
"""The source that is being written, from its beginning; the whole run; or what comes next."""

LAST = 10**9
"""After all segments of a step."""

RESUMED = "the trainer resumed from an earlier step: what follows replaces later ones"


@dataclass(frozen=True)
class Start:
    """Where to begin, and what the listener should know about it."""

    target: Closed | LineFile
    offset: int = 0
    reason: str | None = None
    fallback: bool = False
    """Whether it is a snapshot that stands in for a live file."""


def find(run: WatchedRun, begin: Begin | StreamPosition) -> Start | None:
    """The place to begin at; None while there is nothing at all."""
    if isinstance(begin, StreamPosition):
        return _resumed(run, begin)
    closed = run.listing.closed
    if begin == "start":
        return _first(run.listing.after(None), run)
    if begin == "live":
        return end(run) or _first(None, run)
    if run.live is not None and run.stale_from is None:
        return Start(run.live)
    return Start(closed[-1], fallback=True) if closed else None


def end(run: WatchedRun) -> Start | None:
    """The end of the last line there is: in a closed file while the live one has none."""
    closed = run.listing.closed
    if run.live is not None and run.stale_from is None:
        run.live.find_head()
        if run.live.fingerprint is not None or not closed:
            return Start(run.live, run.live.whole_size())
    if not closed or (file := run.take(closed[-1])) is None:
        return None
    try:
        return Start(closed[-1], file.whole_size(), fallback=run.live is None)
    finally:
        run.give_back(file)


def _first(closed: Closed | None, run: WatchedRun, reason: str | None = None) -> Start | None:
    """The beginning of a closed file, else of the live one."""
    target = closed or run.live
    return None if target is None else Start(target, 0, reason)


def _resumed(run: WatchedRun, place: StreamPosition) -> Start | None:
    """The place an id stands for, or what comes nearest to it, with the reason."""
    if place.records is None:
        return _first(run.listing.after(None), run)
    if "-" not in (place.run, run.digest) and place.run != run.digest:
        reason = "another run has taken the place of the one that was read before"
        return _first(run.listing.after(None), run, reason)
    expected = run.listing.after(place.after) if run.listing.in_segments else None
    others = [one for one in reversed(run.listing.closed) if one is not expected]
    if run.listing.in_segments and place.after is not None:
        others = [one for one in others if one.key > place.after]  # it comes after that one
    for target in (expected, run.live, *others):
        if target is not None and (found := _at(run, target, place)) is not None:
            return found
    reason = "the file that was read before was replaced"
    step = _abandoned(run, place)
    if step is not None:
        return _first(run.listing.after((step, LAST)), run, RESUMED)
    if not run.listing.in_segments and run.live is None and run.listing.closed:
        return Start(run.listing.closed[-1], 0, reason, fallback=True)
    return _first(expected, run, reason)


def _at(run: WatchedRun, target: Closed | LineFile, place: StreamPosition) -> Start | None:
    """The byte of an id in a file; None when it is another file."""
    assert place.records is not None
    file = run.take(target) if isinstance(target, Closed) else run.share(target)
    if file is None:
        return None
    try:
        known = place.records
        if file.fingerprint != known.file:
            return None
        held = file.holds(known.offset, known.end, known.check)
        if held == "yes":
            return Start(target, known.offset)
        if held == "shorter" and isinstance(target, Closed) and _was_cut(run, target, file, known):
            return Start(target, min(known.offset, file.whole_size()))
        return None
    finally:
        run.give_back(file)


def _was_cut(run: WatchedRun, segment: Closed, file: LineFile, known: FileOffset) -> bool:
    """Whether a resume cut off the end of this segment, and the id is of before that."""
    if segment.kind != "segment" or known.end is None or known.check is None:
        return segment.kind == "segment"
    return was_cut(run.layout, file, known.end, known.check)


def _abandoned(run: WatchedRun, place: StreamPosition) -> int | None:
    """The step that was resumed from, when the id's file was set aside."""
    aside = run.listing.abandoned.values()
    return next((one.key[0] for one in aside if _at(run, one, place) is not None), None)
