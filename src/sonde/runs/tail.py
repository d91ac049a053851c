"""Following the records of one run: every whole line once, in order, whatever happens to the files.

A cursor is a file and a byte in it. Each step either sends what comes next, or, at the end of what
is whole, asks where to go on:

1. **Stay**   the file is the live one: wait for more.
2. **Rotate** it became a segment: its end has been read, so go on with the file after it. Nobody is
   told; it is the same stream.
3. **Skip**   it was set aside by a resume: its steps are done again in the file after that step.
4. **Switch** it was replaced, deleted or rewritten: go on with what is there now, from its start.
5. **Fall back** there is no live file, or one that nobody writes to: take the snapshots of the
   checkpoints, and return to the live file when it moves.

Listeners are told of 3 to 5 by a `source` notice, because a position in the old file means nothing
in the new one. The listing is taken before the lines, so a file is left only after its last one.
"""

import asyncio
import time
from collections import deque
from dataclasses import dataclass
from typing import Any, Literal

from sonde.runs.blocks import Encoded
from sonde.runs.files import LineFile
from sonde.runs.ids import (
    NOWHERE,
    Companion,
    FileOffset,
    StreamPosition,
    check_text,
    companion_text,
    parse_key,
)
from sonde.runs.layout import SegmentKey
from sonde.runs.listing import Closed
from sonde.runs.places import LAST, RESUMED, Begin, end, find
from sonde.runs.tails import in_companion
from sonde.runs.watched import Encoding, WatchedRun

IDLE_SECONDS = 2.0
"""How often a listener is told that there is nothing."""

Target = Closed | LineFile | None
"""A closed file, the live file, or nothing yet."""


@dataclass(frozen=True)
class Notice:
    """Something other than a line that a listener should know."""

    event: Literal["source", "checkpoint", "idle"]
    data: dict[str, Any]


class RecordCursor:
    """One listener's place in a run's records."""

    def __init__(
        self,
        run: WatchedRun,
        encoding: Encoding,
        begin: Begin | StreamPosition,
        reason: str | None = None,
    ) -> None:
        """`reason`: why it does not begin where the listener asked for."""
        self.run = run
        self.file: LineFile | None = None
        self.offset = 0
        self._reason = reason
        self._checked: tuple[LineFile, int, int] | None = None
        self._check = ""
        self.source: str | None = None
        self._encoding = encoding
        self._begin: Begin | StreamPosition = begin
        self._epoch = 0
        self._key: SegmentKey | None = None
        self._fallback = False
        self._left: tuple[LineFile, int] | None = None
        self._notices: deque[Notice] = deque()
        self._idle_until = 0.0
        self._last_id = begin.text if isinstance(begin, StreamPosition) else NOWHERE
        self._parts: tuple[str | None, ...] = ()
        self._text = ""
        self._until: tuple[LineFile, int] | None = None

    @property
    def id(self) -> str:
        """The id of the place after what was sent last."""
        file = self.file
        if file is not None and file.fingerprint is not None and file.epoch == self._epoch:
            self._last_id = self._id_of((file, self.offset))
        return self._last_id

    @property
    def behind(self) -> int:
        """Bytes of the file being read that were not sent yet."""
        return 0 if self.file is None else max(0, self.file.size - self.offset)

    def close(self) -> None:
        """Give back what is open."""
        _ = self.id  # stays known
        for file in (self.file, self._left and self._left[0], self._until and self._until[0]):
            if file is not None:
                self.run.give_back(file)
        self.file = self._left = self._until = None

    def stop_at_end(self) -> str:
        """Go no further than the end of what is there now. -> the id to go on from later"""
        self._until = self._last_line()
        return self._id_of(self._until)

    async def step(self, suffix: str = "") -> Encoded | Notice | None:
        """What comes next; None when there is nothing to say for now."""
        if self._notices:
            return self._notices.popleft()
        if self.file is None:
            self._enter()
            return self._notices.popleft() if self._notices else None
        if self._until is not None and (self.file, self.offset) == self._until:
            return None
        listing, live = self.run.listing, self.run.live
        if self.file.identity not in listing.abandoned:
            file, epoch = self.file, self._epoch
            found = await self._read(suffix)
            if found is not None:
                self.offset = found.end
                self._checked = (file, epoch, found.end)
                self._check = check_text(found.end, found.check)
                return found
        if self.file.epoch != self._epoch:
            self._move(self.file, None, 0, "the file was truncated or rewritten")
        elif listing is self.run.listing and live is self.run.live:
            before = self.file
            self._onward()
            if self.file is not before and not self._notices:
                return await self.step(suffix)  # the same stream goes on in another file
        return self._notices.popleft() if self._notices else None

    async def _read(self, suffix: str) -> Encoded | None:
        """The next whole lines of the file."""
        assert self.file is not None
        self.file.find_head()
        if self.file.epoch != self._epoch or self.file.fingerprint is None:
            return None
        limit = self._until[1] if self._until and self._until[0] is self.file else None
        return await self.run.encoded(
            self.file, self.offset, self._encoding, self._before(self.file), suffix, limit
        )

    def _before(self, file: LineFile) -> str:
        parts = (self.run.digest, file.after, file.fingerprint)
        if parts != self._parts:
            self._parts = parts
            self._text = ".".join([self.run.digest, file.after, file.fingerprint or "", ""])
        return self._text

    def _enter(self) -> None:
        """Find the place to begin at, or say that there is none yet."""
        start = find(self.run, self._begin)
        if start is None:
            if not isinstance(self._begin, StreamPosition):
                self._begin = "start"  # all there will be is new to this listener
            self._idle("no live log and no checkpoint yet")
            return
        self._fallback = start.fallback
        if isinstance(start.target, LineFile) and start.target.fingerprint is None:
            self._last_id = self._after_the_others()
        self._go(start.target, start.offset, start.reason or self._reason)

    def _after_the_others(self) -> str:
        """The place of a live file that has no line yet: the end of what was before it."""
        last = self._last_line()
        try:
            return self._id_of(last)
        finally:
            if last is not None:
                self.run.give_back(last[0])

    def _last_line(self) -> tuple[LineFile, int] | None:
        """The end of the last line there is. The file has to be given back."""
        found = end(self.run)
        if found is None:
            return None
        target = found.target
        file = self.run.take(target) if isinstance(target, Closed) else self.run.share(target)
        return None if file is None else (file, found.offset)

    def _id_of(self, place: tuple[LineFile, int] | None) -> str:
        if place is None or place[0].fingerprint is None:
            return NOWHERE
        file, offset = place
        if self._checked != (file, file.epoch, offset):
            self._checked = (file, file.epoch, offset)
            self._check = check_text(offset, file.check(offset))
        return f"{self._before(file)}{offset}{self._check}"

    def _onward(self) -> None:
        """All that is whole has been sent: where to go on?"""
        run, listing, file = self.run, self.run.listing, self.file
        assert file is not None
        if file is run.live:
            if run.stale_from is None:
                return
            self._left = (run.share(file), self.offset)
            self._fallback = True
            self._go(run.stale_from, 0, "the live file is no longer written to")
        elif file.identity in listing.abandoned:
            self._go(self._after((listing.abandoned[file.identity].key[0], LAST)), 0, RESUMED)
        elif file.identity in listing.places:
            self._key = listing.closed[listing.places[file.identity]].key
            self._go(self._after(self._key), 0, RESUMED if self.offset > file.size else None)
        elif self._key is not None:
            self._go(self._after(self._key), 0, None)
        else:
            target = self._after(parse_key(file.after)) if listing.in_segments else run.live
            if target is None and not listing.closed:
                self._idle("the live file was deleted")
            self._go(target, 0, "the live file was replaced")

    def _after(self, key: SegmentKey | None) -> Target:
        """The file after a closed one. A live file that nobody writes to is not next."""
        closed = self.run.listing.after(key)
        if closed is not None or self.run.stale_from is not None:
            return closed
        return self.run.live

    def _go(self, target: Target, offset: int, reason: str | None) -> None:
        """Go to a byte of another file, when there is one."""
        if isinstance(target, Closed):
            file = self.run.take(target)
            if file is not None:  # else it was deleted since it was listed; the next look knows
                self._move(file, target, offset, reason)
                self.run.give_back(file)
        elif target is not None:
            if self._left is not None:
                offset = self._left[1] if self._left[0] is target else offset
                self.run.give_back(self._left[0])
                self._left = None
            self._move(target, None, offset, reason)

    def _move(self, file: LineFile, closed: Closed | None, offset: int, reason: str | None) -> None:
        """Be there, and say so where it is not the same stream going on."""
        if file is self.file:  # begun anew: places in what it was mean nothing any more
            self._last_id = self._after_the_others()
        _ = self.id  # the last one that is sure, until the file has a line
        before, self.file = self.file, self.run.share(file)
        if before is not None:
            self.run.give_back(before)
        self.offset, self._epoch = offset, file.epoch
        file.reach(offset)
        self._key = closed.key if closed else None
        self._announce(closed, file, reason)

    def _announce(self, closed: Closed | None, file: LineFile, reason: str | None) -> None:
        name = "live"
        if closed and (closed.kind == "snapshot" or self._fallback):
            name = f"snapshot:checkpoint-{closed.key[0]}"
        else:
            self._fallback = False
        if name == self.source and reason is None:
            return
        rolled = self.source is not None and self.source.startswith("snapshot:")
        if closed and name != "live" and rolled:
            step = closed.key[0]
            checkpoint = {"step": step, "checkpoint": f"checkpoint-{step}"}
            self._notices.append(Notice("checkpoint", checkpoint))
        self.source = name
        said = {"source": name, "path": str(file.path)} | ({"reason": reason} if reason else {})
        self._notices.append(Notice("source", said))

    def _idle(self, reason: str) -> None:
        """Say that there is nothing, not more often than every two seconds."""
        if time.monotonic() >= self._idle_until:
            self._idle_until = time.monotonic() + IDLE_SECONDS
            self._notices.append(Notice("idle", {"reason": reason}))


class CompanionCursor:
    """One listener's place in a file of generations, metrics or health."""

    def __init__(
        self, run: WatchedRun, name: Companion, encoding: Encoding, begin: Begin | FileOffset
    ) -> None:
        self.run = run
        self.name: Companion = name
        self._encoding = encoding
        self._begin: Begin | FileOffset = begin
        self.file: LineFile | None = None
        self.offset = 0
        self._epoch = 0
        self._cuts = 0
        """How many cuts of the file are in the offset already."""
        self._text = ("", -1, "")

    @property
    def text(self) -> str:
        """This file's part of an id; nothing until it has a line."""
        file = self.file
        if file is not None and file.fingerprint is not None:
            if self._text[:2] != (file.fingerprint, self.offset):
                check = file.check(self.offset)
                place = FileOffset(file.fingerprint, self.offset, self.offset, check)
                self._text = (file.fingerprint, self.offset, companion_text(self.name, place))
            return self._text[2]
        if isinstance(self._begin, FileOffset):
            return companion_text(self.name, self._begin)
        return ""

    def close(self) -> None:
        """Give back what is open."""
        if self.file is not None:
            self.run.give_back(self.file)
            self.file = None

    async def step(self, others: str) -> Encoded | None:
        """Lines that were not sent yet, under ids that begin with the places of `others`."""
        current = self.run.companions.get(self.name)
        if self.file is None:
            if current is None or current.fingerprint is None:
                return None
            self.file = self.run.share(current)
            self._epoch, self._cuts = current.epoch, len(current.cuts)
            self.offset = await self._first(current)
            current.reach(self.offset)
        if self.file.epoch != self._epoch:
            self.offset, self._epoch = 0, self.file.epoch
        if self.file.fingerprint is None:
            return None
        # A resume cut lines off and may have written others since; those before the cut stay.
        self.offset = min(self.offset, *self.file.cuts[self._cuts :], self.offset)
        self._cuts = len(self.file.cuts)
        before = others + companion_text(self.name, FileOffset(self.file.fingerprint, 0))[:-1]
        found = await self.run.encoded(self.file, self.offset, self._encoding, before, "")
        if found is not None:
            self.offset = found.end
        elif current is not None and current is not self.file:
            self.close()  # replaced, and read to its end
            self._begin = "start"
            return await self.step(others)
        return found

    async def _first(self, file: LineFile) -> int:
        if self._begin == "live":
            return file.whole_size()
        known = self._begin
        if not isinstance(known, FileOffset) or known.file != file.fingerprint:
            return 0
        if file.holds(known.offset, known.end, known.check) == "yes":
            return known.offset
        if known.end is None or known.check is None:
            return file.whole_size()
        place = (known.offset, known.end, known.check)
        return await asyncio.to_thread(in_companion, self.run.layout, file, *place)
