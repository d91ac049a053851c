"""Sweeps of the past as routes show them: entries, and events with their numbers.

A sweep whose server was killed has no events; a subscriber is told that, once, as the event
after all others.
"""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

from sonde.errors import SweepNotFinished
from sonde.schema import Failed, Remarks, SweepEntry, SweepHistory, SweepKind, SweepRecord
from sonde.store.past import PastSweeps
from sonde.store.sweep_file import EVERY, INTERRUPTED, Only

Numbered = tuple[int, bytes]

LAST_NUMBER = 999_999_999_999
"""Above the number of any event that was ever sent: the largest that is taken back."""


class Kept(Protocol):
    """A history that can be read."""

    def record(self, sweep: str) -> SweepRecord:
        """One sweep, whole."""
        ...

    def events(self, sweep: str) -> list[bytes]:
        """Its events."""
        ...

    def page(self, *, before: str | None, limit: int, only: Only = EVERY) -> SweepHistory:
        """A page of it."""
        ...


class Readable(Protocol):
    """What the routes of the history ask about sweeps, and have said of them."""

    def history(self, *, before: str | None, limit: int, only: Only = EVERY) -> SweepHistory:
        """Newest first; all of them, or only some."""
        ...

    def kind(self, sweep: str) -> SweepKind:
        """Which route it was asked of."""
        ...

    def record(self, sweep: str) -> SweepRecord:
        """One sweep, whole."""
        ...

    def last_number(self, sweep: str) -> int | None:
        """The number of its last event; None while it goes on."""
        ...

    def follow(self, sweep: str, after: int = 0) -> AsyncGenerator[list[Numbered]]:
        """Batches of its events above a number."""
        ...

    def remark(self, sweep: str, said: Remarks) -> SweepEntry:
        """Name it, note something, give or take its star."""
        ...

    def forget(self, sweep: str) -> SweepEntry:
        """Delete it with all it found, if it has ended. -> what it was"""
        ...


def numbered(kept: Kept, sweep: str) -> list[Numbered]:
    """All events of a sweep that has ended."""
    events = kept.events(sweep)
    if events:
        return list(enumerate(events, 1))
    record = kept.record(sweep)
    if record.state != "interrupted":
        return []
    last = Failed(error=record.error or INTERRUPTED, state="interrupted")
    return [(LAST_NUMBER, last.model_dump_json().encode())]


@dataclass(frozen=True)
class History:
    """The sweeps of other servers, for one that has no model and computes none."""

    kept: PastSweeps

    def history(self, *, before: str | None, limit: int, only: Only = EVERY) -> SweepHistory:
        """Newest first; all of them, or only some."""
        return self.kept.page(before=before, limit=limit, only=only)

    def kind(self, sweep: str) -> SweepKind:
        """Which route it was asked of."""
        return self.kept.kind(sweep)

    def record(self, sweep: str) -> SweepRecord:
        """One sweep, whole."""
        return self.kept.record(sweep)

    def last_number(self, sweep: str) -> int | None:
        """The number of its last event; one that goes on elsewhere cannot be followed here."""
        state = self.kept.record(sweep).state
        if state in ("waiting", "running"):
            raise SweepNotFinished(sweep, state)
        return max((number for number, _ in numbered(self.kept, sweep)), default=0)

    def remark(self, sweep: str, said: Remarks) -> SweepEntry:
        """Name it, note something, give or take its star."""
        return self.kept.remark(sweep, said)

    def forget(self, sweep: str) -> SweepEntry:
        """Delete it with all it found, if it has ended. -> what it was"""
        return self.kept.forget(sweep)

    async def follow(self, sweep: str, after: int = 0) -> AsyncGenerator[list[Numbered]]:
        """All that it has above a number."""
        events = await asyncio.to_thread(numbered, self.kept, sweep)
        yield [event for event in events if event[0] > after]
