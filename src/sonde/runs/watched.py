"""One run directory while somebody listens to it: what is in it now, and who wants to know.

Only `look` learns anything. It follows a notification of the kernel, or the clock.

1. **Open** the live file, if another has its name now.
2. **List**  the closed files. In that order: a live file that was opened comes right after the
   closed files listed later, or is among them, so no rotation in between is overlooked.
3. **Check** that files which are being read were not cut or rewritten.
4. **Tell**  listeners, if anything changed.

Listeners then go on by themselves from what is known here; see `tail`.
"""

import asyncio
import os
import time
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sonde.runs.blocks import BlockCache, Encoded, Octets
from sonde.runs.files import Block, Identity, LineFile, identity_of, open_lines
from sonde.runs.ids import Companion, check_text, key_text, run_digest
from sonde.runs.layout import RunLayout
from sonde.runs.lines import BadLine, Lines, check
from sonde.runs.listing import Closed, Listing, list_run
from sonde.runs.reader import read_object
from sonde.runs.tails import was_cut
from sonde.runs.waiting import News
from sonde.runs.withheld import Withheld

CUT_SECONDS = 0.1
"""A live file that lost its end is given this long to be renamed, as it is on resume."""

STALE_SECONDS = 30.0
"""A live file that has not grown for so long since there is a later snapshot is not being written.
"""

FRESH_SECONDS = 0.1
"""Directory times are coarse: one that changed so recently is listed again."""

WATCH_SECONDS, POLL_SECONDS, MISSING_SECONDS = 1.0, 0.02, 0.25
"""How often to look by the clock: where the kernel tells, where it does not, where nothing is."""


class Encoding(Protocol):
    """How lines become what is sent. Equal encodings share the result."""

    def encode(self, lines: Lines, before: bytes, after: bytes, name: str) -> tuple[int, Octets]:
        """Lines -> how many there are, and the bytes; an id is `before`, an offset, `after`."""
        ...

    def __hash__(self) -> int: ...


@dataclass(frozen=True)
class _Still:
    """Since when a live file, beside a newest snapshot, has had one size."""

    of: tuple[Identity, Identity]
    size: int
    since: float
    grew: bool = False
    """Whether it was seen to grow after the snapshot was there."""


class WatchedRun:
    """See above. Used on one event loop only."""

    def __init__(self, layout: RunLayout, cache: BlockCache) -> None:
        self.layout = layout
        self.listing = Listing()
        self.live: LineFile | None = None
        self.companions: dict[Companion, LineFile | None] = {}
        self.digest = "-"
        self.stale_from: Closed | None = None
        """The first snapshot of later steps than those of a live file nobody writes to."""
        self.records_read = self.lines_sent = 0
        self.samples: deque[tuple[float, int]] = deque(maxlen=11)
        """When, and how many records had been read by then."""
        self.withheld = Withheld()
        self.why_polling: str | None = None
        self.news = News()
        self._cache = cache
        self._files: dict[Identity, LineFile] = {}
        self._listed: tuple[object, ...] = ()
        self._listed_at = 0.0
        self._looks = 0
        self._cut_since: float | None = None
        self._still: _Still | None = None
        self._known: tuple[object, ...] = ()

    @property
    def paths(self) -> dict[Companion, Path]:
        """Where companions are."""
        layout = self.layout
        return {
            "generation": layout.generations,
            "metrics": layout.metrics,
            "health": layout.health,
        }

    def look(self) -> bool:
        """Learn what is in the directory now, and tell if it changed. -> whether it did"""
        self._looks += 1
        renamed = self._open_live()
        self._list(renamed)
        self._check_live()
        for name in self.companions:
            self._open_companion(name)
        known = (
            self.listing,
            self.live and (self.live.identity, self.live.epoch, self.live.size),
            [file and (file.identity, file.epoch, file.size) for file in self.companions.values()],
            self.stale_from,
            self.closed_size(),
        )
        changed, self._known = known != self._known, known
        if changed:
            self.news.tell()
        return changed

    def closed_size(self) -> int:
        """The last closed file may still grow where it is a snapshot that is being written."""
        if not self.listing.closed or self.live is not None:
            return 0
        file = self._files.get(self.listing.closed[-1].identity)
        return 0 if file is None else file.size

    def watched_folders(self) -> list[Path]:
        """Where changes are to be noticed."""
        closed = self.listing.closed
        newest = [closed[-1].path.parent] if closed and not self.listing.in_segments else []
        return [self.layout.directory, *newest]

    def take(self, closed: Closed) -> LineFile | None:
        """Open a closed file, or share it; `give_back` when it is no longer read."""
        file = self._files.get(closed.identity)
        if file is None:
            file = self._opened(closed.path)
            if file is None:
                return None
            file.after = key_text(self.listing.before(closed))
        return self.share(file)

    def share(self, file: LineFile) -> LineFile:
        """One more reads it."""
        file.users += 1
        return file

    def give_back(self, file: LineFile) -> None:
        """One fewer reads it; the last closes it."""
        file.users -= 1
        if file.users == 0:
            self._files.pop(file.identity, None)
            file.close()

    def close(self) -> None:
        """Nobody listens: let go of everything but the counts."""
        for file in (self.live, *self.companions.values()):
            if file is not None:
                self.give_back(file)
        self.live = None
        self.companions.clear()
        self._listed = self._known = ()

    async def encoded(
        self,
        file: LineFile,
        start: int,
        encoding: Encoding,
        before: str,
        after: str = "",
        limit: int | None = None,
    ) -> Encoded | None:
        """The lines from `start` up to `limit`, ready to send; None when none is whole yet.

        `before` and `after` are what ids have around the offset.
        """
        epoch, looks = file.epoch, self._looks
        if file.nothing == (start, looks):
            return None  # somebody has tried since the last look
        key = (file, epoch, start, encoding, before, after, limit)
        kept = self._cache.get(key)
        if kept is not None:
            return kept
        block = await file.read(start)
        end = 0 if block is None else block.end if limit is None else min(block.end, limit)
        check = file.check(end)
        if file.epoch != epoch or not self._as_it_was(file):
            return None
        if block is None:
            file.nothing = (start, looks)
            return None
        lines = _lines(block, limit)
        if file is self.live:
            fresh = start >= file.whole_end
            self.records_read += len(lines) if fresh else _beyond(lines, file.whole_end)
        file.was_read(block)
        self.withheld.note(file, lines.bad, block.end)
        after = check_text(end, check) + after
        count, data = encoding.encode(lines, before.encode(), after.encode(), file.path.name)
        made = Encoded(end, count, data, check)
        if file.users > (2 if file is self.live else 1):  # somebody else reads it too
            self._cache.put(key, made)
        return made

    def _as_it_was(self, file: LineFile) -> bool:
        """Whether what was just read can be trusted; if not, somebody is writing over it."""
        change = file.changed()
        if file is self.live:  # of which `look` decides
            return change == "no" and self._cut_since is None
        if change != "no":
            resumed = change == "cut" and was_cut(self.layout, file, *file.reached)
            file.cut() if resumed else file.begin_anew()
            self.news.tell()
        return change == "no"

    def _opened(self, path: Path) -> LineFile | None:
        file = open_lines(path)
        if file is None:
            return None
        known = self._files.setdefault(file.identity, file)
        if known is not file:
            file.close()
        return known

    def _open_live(self) -> bool:
        """Follow the live file's name. -> whether another file has it, or none"""
        now = identity_of(self.layout.live)
        if self.live is not None and self.live.identity == now:
            return False
        before, self.live = self.live, None
        self._cut_since = None
        if now is not None:
            file = self._opened(self.layout.live)
            self.live = None if file is None else self.share(file)
        if before is not None:
            self.give_back(before)
        return before is not None or self.live is not None

    def _list(self, renamed: bool) -> None:
        """List closed files, if that can have changed."""
        seen = tuple(map(_changed_at, (self.layout.directory, *self._folders())))
        recent = any(when > time.time() - FRESH_SECONDS for when in seen)
        overdue = time.monotonic() > self._listed_at + WATCH_SECONDS
        if renamed or recent or overdue or seen != self._listed:
            self.listing = list_run(self.layout, self.listing)
            self.digest = run_digest(_run_id(self.layout.run_info))
            self._listed, self._listed_at = seen, time.monotonic()
        if self.live is not None:
            ours = self.live.identity
            if ours in self.listing.places or ours in self.listing.abandoned:
                self.give_back(self.live)  # it was renamed since it was opened
                self.live = None
            elif not self.live.after:
                self.live.after = key_text(self.listing.last_key)
        self.stale_from = self._later_snapshot()

    def _folders(self) -> list[Path]:
        closed = self.listing.closed
        return [self.layout.segments, *({closed[-1].path.parent} if closed else ())]

    def _later_snapshot(self) -> Closed | None:
        """The first snapshot of steps beyond those of a live file that does not grow.

        Clocks may be set: steps say what comes after what, and growth says what is alive. Times of
        files only save the wait for growth where they agree with the steps.
        """
        live, closed = self.live, self.listing.closed
        if live is None or not closed or self.listing.in_segments:
            self._still = None
            return None
        now, size, newest = time.monotonic(), live.size, closed[-1]
        if self._still is None or self._still.of != (live.identity, newest.identity):
            self._still = _Still((live.identity, newest.identity), size, now)
        elif self._still.size != size:
            self._still = _Still(self._still.of, size, now, grew=True)
        reached = live.last_step()
        later = [one for one in closed if one.filled and one.key[0] > reached]
        if not later or self._still.grew:
            return None
        older = os.fstat(live.descriptor).st_mtime + STALE_SECONDS < newest.written
        return later[0] if older or now > self._still.since + STALE_SECONDS else None

    def _check_live(self) -> None:
        """Notice that the live file was cut or rewritten, but not one that a resume is moving.

        One that was short at a look and is long again at the next was begun anew, also where it
        says the same as before: nobody else writes to a file after its end was cut off.
        """
        if self.live is None:
            self._cut_since = None
            return
        self.live.find_head()
        change = self.live.changed()
        if change == "cut":
            since = self._cut_since or time.monotonic()
            self._cut_since = since
            if time.monotonic() < since + CUT_SECONDS:
                asyncio.get_running_loop().call_later(CUT_SECONDS, self._look_again)
                return
        if change != "no" or self._cut_since is not None:
            self.live.begin_anew()
        self._cut_since = None

    def _look_again(self) -> None:
        if self.live is not None:
            self.look()

    def _open_companion(self, name: Companion) -> None:
        file = self.companions[name]
        now = identity_of(self.paths[name])
        if file is None or now not in (None, file.identity):
            opened = self._opened(self.paths[name])
            self.companions[name] = None if opened is None else self.share(opened)
            if file is not None:
                self.give_back(file)
        elif (change := file.changed()) == "rewritten":
            file.begin_anew()
        elif change == "cut":
            file.cut()
        if file is not None:
            file.find_head()


def _lines(block: Block, limit: int | None) -> Lines:
    if block.too_long:
        return Lines([], [], [BadLine(block.start, "too long")])
    if limit is not None and block.end > limit:
        return check(block.data[: limit - block.start], block.start)
    return check(block.data, block.start)


def _beyond(lines: Lines, place: int) -> int:
    """How many lines end after a byte."""
    return len(lines) - bisect_right(lines.ends, place)


def _changed_at(path: Path) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


def _run_id(path: Path) -> str | None:
    """The run's own id; None where it has none that can be read."""
    run_id = (read_object(path) or {}).get("run_id")
    return run_id if isinstance(run_id, str) and len(run_id) <= 200 else None
