"""Sweeps under way and sweeps of the past, by id.

A sweep is started once and followed by anyone: whoever sent it, a browser that lost its connection
and comes back, a second browser. Its events are numbered and kept, so that each of them hears every
one, in order, once. When whoever sent it leaves and nobody else follows, it is stopped.

Written down before it is announced: what a client saw finished is in the history.
"""

import asyncio
import logging
import uuid
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime

from sonde.backends.base import Backend
from sonde.engine import Limits, NamedVectors, estimate, sweep
from sonde.engine.plan import check
from sonde.errors import JobCancelled, OutOfMemory, ServerStopping, SondeError
from sonde.results import Provenance
from sonde.schema import (
    Cell,
    Estimate,
    Failed,
    PatchSweepRequest,
    Start,
    Summary,
    SweepEntry,
    SweepEvent,
    SweepHistory,
    SweepRecord,
    SweepState,
    SweepSummary,
)
from sonde.server.jobs import Engine, Job
from sonde.store.sweeps import SweepStore

ENDED_BY: dict[type[BaseException], SweepState] = {
    JobCancelled: "cancelled",
    ServerStopping: "interrupted",
}

log = logging.getLogger(__name__)


class RunningSweep:
    """One sweep from its start to its end: the events so far, and who follows them."""

    job: Job

    def __init__(self, entry: SweepEntry, loop: asyncio.AbstractEventLoop, book: "Book") -> None:
        self.id = entry.id
        self.state: SweepState = "waiting"
        self.cells: int | None = None
        self.done = 0
        self.error: BaseException | None = None
        self.summary: Summary | None = None
        self.events: list[bytes] = []
        self._entry = entry
        self._loop = loop
        self._book = book
        self._followers: set[asyncio.Event] = set()
        self._guests = 0

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.state not in ("waiting", "running")

    def entry(self) -> SweepEntry:
        """Its line in the history, as it is now."""
        now = {"state": self.state, "cells": self.cells, "done": self.done}
        return self._entry.model_copy(update=now)

    # On the engine's thread.

    def item(self, made: SweepEvent) -> None:
        """Keep and announce an event; the summary waits until it is written down."""
        if isinstance(made, Summary):
            self.summary = made
            return
        if isinstance(made, Start):
            made = made.model_copy(update={"id": self.id})
            self.state, self.cells = "running", made.cells
            self._book.running(self.id, made.cells)
        self.done += isinstance(made, Cell)
        self.events.append(made.model_dump_json().encode())
        self._announce()

    def ended(self, error: BaseException | None) -> None:
        """Write down how it ended, and only then announce it."""
        last: SweepEvent
        state: SweepState = "finished"
        if error is None:
            assert self.summary is not None
            last = self.summary
        else:
            error = OutOfMemory() if isinstance(error, MemoryError) else error
            state = ENDED_BY.get(type(error), "failed")
            last, self.summary, self.error = Failed(error=said(error)), None, error
        event = last.model_dump_json().encode()
        self._book.end(self, state, [*self.events, event])
        self.events.append(event)
        self.state = state
        self._announce()

    def _announce(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._wake)
        except RuntimeError:
            log.debug("the event loop closed before sweep %s was read", self.id)

    # On the event loop.

    def _wake(self) -> None:
        for follower in self._followers:
            follower.set()

    async def follow(
        self, after: int = 0, *, guest: bool = False
    ) -> AsyncGenerator[list[tuple[int, bytes]]]:
        """Batches of (number, event) from the first number above `after`, to the end.

        A guest is anyone but whoever sent the sweep.
        """
        news = asyncio.Event()
        self._followers.add(news)
        self._guests += guest
        try:
            while True:
                news.clear()
                over, count = self.over, len(self.events)
                if count > after:
                    yield list(enumerate(self.events[after:count], after + 1))
                    after = count
                elif over:
                    return
                else:
                    await news.wait()
        finally:
            self._followers.discard(news)
            self._guests -= guest

    async def began(self) -> None:
        """Return when its axes are known; raise what went wrong before."""
        async for _ in self.follow():
            break
        if self.cells is None and self.error is not None:
            raise self.error

    async def finished(self) -> SweepSummary:
        """Return its summary; raise what went wrong."""
        async for _ in self.follow():
            pass
        if self.summary is None:
            assert self.error is not None
            raise self.error
        return self.summary

    def leave(self) -> None:
        """Whoever sent it has left: without guests, it is stopped."""
        if not self._guests:
            self.job.cancel()


def said(error: BaseException) -> str:
    """What a client is told: our own words, but not those of a bug."""
    if isinstance(error, SondeError):
        return str(error)
    return f"internal error ({type(error).__name__}); the server's log has the details"


@dataclass(frozen=True)
class Book:
    """Writes sweeps down. A history that cannot be written costs no one their result."""

    store: SweepStore
    over: Callable[[RunningSweep, SweepState], None]

    def running(self, sweep: str, cells: int) -> None:
        """It has begun."""
        try:
            self.store.running(sweep, cells)
        except SondeError as error:
            log.error("sweep %s could not be written down: %s", sweep, error)

    def end(self, sweep: RunningSweep, state: SweepState, events: list[bytes]) -> None:
        """It has ended."""
        error = sweep.error
        if error is not None and not isinstance(error, SondeError):
            log.error("sweep %s failed", sweep.id, exc_info=error)
        try:
            self.store.end(
                sweep.id,
                state=state,
                ended=datetime.now(UTC),
                cells=sweep.cells,
                done=sweep.done,
                error=None if error is None else said(error),
                summary=sweep.summary,
                events=events,
            )
        except SondeError as trouble:
            log.error("sweep %s could not be written down: %s", sweep.id, trouble)
        self.over(sweep, state)


class Sweeps:
    """All sweeps of a server."""

    def __init__(
        self,
        backend: Backend,
        engine: Engine,
        store: SweepStore,
        *,
        limits: Limits | None = None,
        versions: Mapping[str, str] | None = None,
    ) -> None:
        self._backend = backend
        self._engine = engine
        self._store = store
        self._limits = limits or Limits()
        self._versions = dict(versions or {})
        self._under_way: dict[str, RunningSweep] = {}
        self.ended: Counter[SweepState] = Counter()
        self.cells = 0

    async def start(self, request: PatchSweepRequest, vectors: NamedVectors) -> RunningSweep:
        """Check what can be checked without the model, then queue it."""
        self._engine.check_room("sweep")  # a flood is refused before it costs anything
        await asyncio.to_thread(check, request, self._backend, vectors, self._limits)
        provenance = Provenance.of(self._backend.describe(), request, versions=self._versions)
        entry = SweepEntry(
            id=uuid.uuid4().hex,
            state="waiting",
            created=datetime.now(UTC),
            ended=None,
            cells=None,
            done=0,
            error=None,
            provenance=provenance,
        )
        running = RunningSweep(entry, asyncio.get_running_loop(), Book(self._store, self._over))
        await asyncio.to_thread(self._store.begin, entry)
        self._under_way[entry.id] = running
        try:
            running.job = self._engine.submit(
                lambda: sweep(self._backend, request, modules=vectors, limits=self._limits),
                running,
                kind="sweep",
            )
        except SondeError as error:
            running.ended(error)
            raise
        return running

    async def estimate(self, request: PatchSweepRequest, vectors: NamedVectors) -> Estimate:
        """What a sweep would cost."""
        return await self._engine.call(
            lambda: estimate(self._backend, request, modules=vectors, limits=self._limits)
        )

    def under_way(self, sweep: str) -> RunningSweep | None:
        """A sweep that has not ended."""
        return self._under_way.get(sweep)

    def cancel(self, sweep: str) -> RunningSweep | None:
        """Stop a sweep; None when it has ended already, `UnknownSweep` when there is none."""
        running = self.under_way(sweep)
        if running is None:
            self._store.entry(sweep)
            return None
        running.job.cancel()
        return running

    def history(self, *, before: str | None, limit: int) -> SweepHistory:
        """Sweeps of the past and under way, newest first."""
        page = self._store.page(before=before, limit=limit)
        live = [self._under_way.get(entry.id) for entry in page.sweeps]
        entries = [
            entry if running is None else running.entry()
            for entry, running in zip(page.sweeps, live, strict=True)
        ]
        return SweepHistory(sweeps=entries, next=page.next)

    def record(self, sweep: str) -> SweepRecord:
        """One sweep, whole."""
        running = self.under_way(sweep)
        if running is None:
            return self._store.record(sweep)
        return SweepRecord(**running.entry().model_dump(), summary=None)

    async def follow(self, sweep: str, after: int = 0) -> AsyncGenerator[list[tuple[int, bytes]]]:
        """Batches of a sweep's numbered events, above `after`: live, or from the history."""
        running = self.under_way(sweep)
        if running is not None:
            async with aclosing(running.follow(after, guest=True)) as batches:
                async for batch in batches:
                    yield batch
            return
        events = await asyncio.to_thread(self._store.events, sweep)
        yield list(enumerate(events[after:], after + 1))

    def n_events(self, sweep: str) -> int | None:
        """How many events an ended sweep has; None while it goes on. `UnknownSweep` when none."""
        return None if sweep in self._under_way else len(self._store.events(sweep))

    def close(self) -> None:
        """After the engine has stopped: close the history."""
        self._store.close()

    def _over(self, running: RunningSweep, state: SweepState) -> None:
        self._under_way.pop(running.id, None)
        self.ended[state] += 1
        self.cells += running.done
