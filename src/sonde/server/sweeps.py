"""Sweeps under way and sweeps of the past, by id.

A sweep is started once and followed by any client: its sender, a browser that lost its connection
and comes back, a second browser. Its events are numbered and kept, so that each of them hears every
one, in order, once. When its sender leaves and nobody else follows, it is stopped.

Written down before it is announced: what a client saw finished is in the history.
"""

import asyncio
import logging
import uuid
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Literal

from sonde.engine import Limits
from sonde.errors import BadRequest, JobCancelled, OutOfMemory, ServerStopping, SondeError
from sonde.results import Provenance
from sonde.schema import (
    Cell,
    Estimate,
    Failed,
    Loading,
    Remarks,
    Start,
    Summary,
    SweepEntry,
    SweepEvent,
    SweepHistory,
    SweepKind,
    SweepRecord,
    SweepState,
    SweepSummary,
)
from sonde.schema.table import (
    SweepTable,
    TableCell,
    TableDropped,
    TableEvent,
    TablePair,
    TableStart,
    TableSummary,
)
from sonde.server.asks import Ask, General, OfOneModel
from sonde.server.book import Book, said
from sonde.server.course import Course
from sonde.server.jobs import Job, JobThread
from sonde.server.model_names import ModelSource
from sonde.server.past import Numbered, numbered
from sonde.server.pool import Pool, ServedModel
from sonde.store.sweep_file import EVERY, Only
from sonde.store.sweeps import SweepStore

Unfinished = Literal["failed", "cancelled", "interrupted"]

ENDED_BY: dict[type[BaseException], Unfinished] = {
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
        self.summary: Summary | TableSummary | None = None
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

    def described(self, provenance: Provenance) -> None:
        """The model is there, and says what it is."""
        self._entry = self._entry.model_copy(update={"provenance": provenance})
        self._book.described(self.id, provenance)

    def item(self, made: SweepEvent | TableEvent | Loading) -> None:
        """Keep and announce an event; the summary waits until it is written down."""
        if isinstance(made, Summary | TableSummary):
            self.summary = made
            return
        if isinstance(made, Start | TableStart):
            made = made.model_copy(update={"id": self.id})
            self.state, self.cells = "running", made.cells
            self._book.running(self.id, made.cells)
        self.done += isinstance(made, Cell | TableCell)
        event = made.model_dump_json().encode()
        if isinstance(made, TablePair):
            self.done += sum(len(next(iter(row.values()))) for row in made.values)
            self._book.pair(self.id, made.record.pair, event)
        elif isinstance(made, TableDropped):
            self._book.pair(self.id, made.dropped.pair, event)
        self.events.append(event)
        self._announce()

    def ended(self, error: BaseException | None) -> None:
        """Write down how it ended, and only then announce it.

        On the thread that stops the server, when the engine's cannot be waited for.
        """
        last: SweepEvent | TableEvent
        state: SweepState = "finished"
        if error is None:
            assert self.summary is not None
            last = self.summary
        else:
            error = OutOfMemory() if isinstance(error, MemoryError) else error
            state = how = ENDED_BY.get(type(error), "failed")
            last, self.summary, self.error = Failed(error=said(error), state=how), None, error
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
    ) -> AsyncGenerator[list[Numbered]]:
        """Batches of (number, event) from the first number above `after`, to the end.

        A guest is any subscriber but the sender.
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

    async def finished(self) -> SweepSummary | SweepTable:
        """Return its summary; raise what went wrong."""
        async for _ in self.follow():
            pass
        if self.summary is None:
            assert self.error is not None
            raise self.error
        return self.summary

    def leave(self) -> None:
        """Its sender has left: without guests, it is stopped."""
        if not self._guests:
            self.job.cancel()


class Sweeps:
    """All sweeps of a server."""

    def __init__(
        self,
        models: Pool,
        engine: JobThread,
        store: SweepStore,
        *,
        limits: Limits | None = None,
        versions: Mapping[str, str] | None = None,
    ) -> None:
        self._models = models
        self._engine = engine
        self._store = store
        self._limits = limits or Limits()
        self._versions = dict(versions or {})
        self._under_way: dict[str, RunningSweep] = {}
        self.ended: Counter[SweepState] = Counter()
        self.cells = 0

    async def start(
        self, ask: OfOneModel | Course, source: ModelSource | None = None
    ) -> RunningSweep:
        """Check what can be checked without running the model, then queue it.

        `source` is which model; one that is not loaded is loaded when it is the sweep's turn, and
        what is wrong with the request is found after that.
        """
        self._engine.check_room("sweep")  # a flood is refused before it costs anything
        if isinstance(ask, General) and ask.request.resume is not None:
            ask = await asyncio.to_thread(self._resumed, ask, ask.request.resume)
            source = self._models.find(ask.request.model)
        source = source or self._models.default.source
        served = self._models.loaded(source)
        provenance = Provenance.pending(source.name, ask.request, versions=self._versions)
        if served is not None:
            await asyncio.to_thread(ask.check, served.backend, self._limits)
            provenance = self._provenance(served, ask)
        entry = SweepEntry(
            id=uuid.uuid4().hex,
            state="waiting",
            created=datetime.now(UTC),
            ended=None,
            cells=None,
            done=0,
            error=None,
            provenance=provenance,
            kind=ask.kind,
        )
        running = RunningSweep(entry, asyncio.get_running_loop(), Book(self._store, self._over))
        await asyncio.to_thread(self._store.begin, entry)
        if isinstance(ask, General) and ask.request.pairs is not None:
            whole = ask.request.model_dump_json(exclude={"resume", "stream"}).encode()
            await asyncio.to_thread(self._store.keep_request, entry.id, whole)
        self._under_way[entry.id] = running
        try:
            running.job = self._engine.submit(
                lambda: self._events(ask, source, running), running, kind="sweep"
            )
        except SondeError as error:
            running.ended(error)
            raise
        return running

    def _events(
        self, ask: OfOneModel | Course, source: ModelSource, running: RunningSweep
    ) -> Iterator[SweepEvent | TableEvent]:
        """All of a sweep, on the engine's thread: its model is loaded first, if need be."""
        if isinstance(ask, Course):
            return ask.run(
                self._models,
                self._limits,
                running.item,
                lambda served: running.described(self._provenance(served, ask)),
            )
        at_first = self._models.loaded(source)

        def events(served: ServedModel) -> Iterator[SweepEvent | TableEvent]:
            if served is not at_first or not running.entry().provenance.weights:
                running.described(self._provenance(served, ask))
            return ask.events(served.backend, self._limits)

        return self._models.run(source, events, running.item)

    def _provenance(self, served: ServedModel, ask: Ask) -> Provenance:
        model = served.backend.describe()
        return Provenance.of(model, ask.request, versions=self._versions)

    def _resumed(self, ask: General, sweep: str) -> General:
        """The same sweep as one that did not finish, with the pairs that it has."""
        if sweep in self._under_way:
            raise BadRequest(f"sweep {sweep!r} is under way: follow its events, or cancel it first")
        before = self._store.entry(sweep).provenance.weights
        return ask.resumed(self._store.progress(sweep), before)

    async def estimate(self, ask: Ask, source: ModelSource | None = None) -> Estimate:
        """What a sweep would cost."""
        return await self._models.call(
            source or self._models.default.source,
            lambda served: ask.estimate(served.backend, self._limits),
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

    def history(self, *, before: str | None, limit: int, only: Only = EVERY) -> SweepHistory:
        """Sweeps of the past and under way, newest first; all of them, or only some."""
        page = self._store.page(before=before, limit=limit, only=only)
        return SweepHistory(sweeps=[self._now(entry) for entry in page.sweeps], next=page.next)

    def _now(self, kept: SweepEntry) -> SweepEntry:
        """A line of the history; of a sweep under way what the file cannot know yet."""
        running = self.under_way(kept.id)
        if running is None:
            return kept
        said = {"name": kept.name, "note": kept.note, "starred": kept.starred}
        return running.entry().model_copy(update=said)

    def remark(self, sweep: str, said: Remarks) -> SweepEntry:
        """Name it, note something, give or take its star."""
        return self._now(self._store.remark(sweep, said))

    def forget(self, sweep: str) -> SweepEntry:
        """Delete it with all it found, if it has ended. -> what it was"""
        return self._store.forget(sweep)

    def kind(self, sweep: str) -> SweepKind:
        """Which route it was asked of."""
        running = self.under_way(sweep)
        return self._store.kind(sweep) if running is None else running.entry().kind

    def record(self, sweep: str) -> SweepRecord:
        """One sweep, whole."""
        running = self.under_way(sweep)
        if running is None:
            return self._store.record(sweep)
        return SweepRecord(**self._now(self._store.entry(sweep)).model_dump(), summary=None)

    async def follow(self, sweep: str, after: int = 0) -> AsyncGenerator[list[Numbered]]:
        """Batches of a sweep's numbered events, above `after`: live, or from the history."""
        running = self.under_way(sweep)
        if running is not None:
            async with aclosing(running.follow(after, guest=True)) as batches:
                async for batch in batches:
                    yield batch
            return
        events = await asyncio.to_thread(numbered, self._store, sweep)
        yield [event for event in events if event[0] > after]

    def last_number(self, sweep: str) -> int | None:
        """The number of an ended sweep's last event; None while it goes on."""
        if sweep in self._under_way:
            return None
        return max((number for number, _ in numbered(self._store, sweep)), default=0)

    def close(self) -> None:
        """After the engine has stopped: close the history."""
        try:
            self._store.close()
        except SondeError as error:
            log.error("the history could not be closed in order: %s", error)

    def _over(self, running: RunningSweep, state: SweepState) -> None:
        self._under_way.pop(running.id, None)
        self.ended[state] += 1
        self.cells += running.done
