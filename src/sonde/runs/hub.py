"""One reader, many listeners: runs under one directory, watched while somebody listens.

    listener = hub.listen(hub.find(None), encoding, begin="active")
    while True:
        told = listener.run.news.told
        while (item := await listener.step()) is not None: ...
        await listener.run.news.after(told)

Listeners pull: each has its own place, and takes blocks that others made where it can. One that is
slow simply comes back later and reads from disk what is no longer in memory. So it slows nobody
down, loses nothing, and memory is bounded by

    cache (16 MiB) + listeners x (one block + what the transport holds)
"""

import asyncio
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from sonde.errors import UnknownRun
from sonde.runs.blocks import BlockCache, Encoded
from sonde.runs.ids import Companion, StreamPosition
from sonde.runs.layout import RUN_NAME, RunLayout
from sonde.runs.listing import checkpoints, is_folder, is_run, run_folders
from sonde.runs.lock import holder
from sonde.runs.notify import Inotify, why_not
from sonde.runs.places import Begin
from sonde.runs.tail import CompanionCursor, Notice, RecordCursor
from sonde.runs.waiting import Turns
from sonde.runs.watched import (
    MISSING_SECONDS,
    POLL_SECONDS,
    WATCH_SECONDS,
    Encoding,
    WatchedRun,
)

ROOT = "root"
"""What the run is called that is not in a folder of its own below `output_dir`."""

LEAVE_SECONDS = 1.0
"""How long a listener may take to leave when the hub stops."""

SILENT_SECONDS = 0.2
"""A change that is older than this, and that the kernel did not tell of, is one it never will."""


@dataclass(frozen=True)
class Wishes:
    """What a listener asked for."""

    encoding: Encoding
    begin: Begin | StreamPosition
    include: Mapping[Companion, Encoding]
    anywhere: bool
    reason: str | None = None
    """Why it begins somewhere else than the listener asked for."""


class Listener:
    """One who listens to a run: a place in its records and in the companions asked for."""

    def __init__(self, hub: "Hub", run: WatchedRun, wishes: "Wishes") -> None:
        self.task: asyncio.Task[None] | None = None
        """What sends to this listener, so that it can be ended when the client does not read."""
        self.wishes = wishes
        self._hub = hub
        self._begin(run)

    def _begin(self, run: WatchedRun) -> None:
        wishes = self.wishes
        for name in wishes.include:
            run.companions.setdefault(name, None)
        places = wishes.begin.companions if isinstance(wishes.begin, StreamPosition) else {}
        usual: Begin = "start" if isinstance(wishes.begin, StreamPosition) else wishes.begin
        self.records = RecordCursor(run, wishes.encoding, wishes.begin, wishes.reason)
        self._companions = [
            CompanionCursor(run, name, encoding, places.get(name, usual))
            for name, encoding in wishes.include.items()
        ]

    @property
    def run(self) -> WatchedRun:
        """What is listened to."""
        return self.records.run

    @property
    def stopping(self) -> bool:
        """Whether it is time to leave."""
        return self._hub.stopping

    async def turn(self) -> None:
        """Wait for a turn, as those do who have more to catch up with than one write holds."""
        await self._hub.turns.next()

    def stop_at_end(self) -> str:
        """Go no further than the end of what is there now. -> the id to go on from later"""
        return self.records.stop_at_end()

    @property
    def id(self) -> str:
        """Where this listener is; it can go on from there later, or somewhere else."""
        return self.records.id + self._places()

    async def step(self) -> Encoded | Notice | None:
        """What comes next; None when there is nothing for now."""
        item = await self.records.step(self._places())
        for companion in self._companions if item is None else ():
            others = self.records.id + self._places(but=companion)
            item = await companion.step(others)
            if item is not None:
                break
        if isinstance(item, Encoded):
            self.run.lines_sent += item.count
        elif item is not None and item.event == "idle" and self.wishes.anywhere:
            self._hub.move(self)
        return item

    def go_to(self, run: WatchedRun) -> None:
        """Listen to another run instead."""
        self.close()
        self._begin(run)

    def cut(self, seconds: float) -> None:
        """End the task that serves this listener, if it is still there after so long."""
        if self.task is not None:
            self.task.get_loop().call_later(seconds, self.task.cancel)

    def leave(self) -> None:
        """Stop listening."""
        self._hub.left(self)

    def close(self) -> None:
        """Give back what is open."""
        self.records.close()
        for companion in self._companions:
            companion.close()

    def _places(self, but: CompanionCursor | None = None) -> str:
        if not self._companions:
            return ""
        return "".join(one.text for one in self._companions if one is not but)


class Hub:
    """The runs under `output_dir`, each with those who listen to it."""

    def __init__(self, layout: RunLayout) -> None:
        """`layout` says where runs are and what their files are called."""
        self.layout = layout
        self.cache = BlockCache()
        self.turns = Turns()
        self.started = time.monotonic()
        self.stopping = False
        self.listeners: dict[WatchedRun, set[Listener]] = {}
        self._runs: dict[Path, WatchedRun] = {}
        self._looking: dict[WatchedRun, asyncio.Task[None]] = {}
        self._watches: dict[WatchedRun, dict[Path, int]] = {}
        self._inotify: Inotify | None = None

    @property
    def root(self) -> Path:
        """The directory, with links in its own path resolved; below it none is followed."""
        return self.layout.directory.resolve()

    def layouts(self) -> list[RunLayout]:
        """Where runs are: the one in `output_dir` itself, if there is one, and those below."""
        root = replace(self.layout, directory=self.root)
        return [*([root] if is_run(root) else []), *run_folders(root)]

    def layout_of(self, name: str | None) -> RunLayout:
        """Where a run is; without a name, the one in `output_dir` itself, else the newest below.

        One that a trainer is writing is newer than any other: a clock that was set back says
        otherwise.
        """
        root = replace(self.layout, directory=self.root)
        if name is None:
            below = [] if is_run(root) else run_folders(root)
            return max(below, key=_newness, default=root)
        if name == ROOT and not is_folder(root.directory / ROOT):
            return root
        found = replace(root, directory=root.directory / name) if RUN_NAME.fullmatch(name) else None
        if found is None or not is_run(found):
            raise UnknownRun(name)
        return found

    def name_of(self, layout: RunLayout) -> str:
        """What a run is called."""
        return ROOT if layout.directory == self.root else layout.directory.name

    def find(self, name: str | None) -> WatchedRun:
        """A run by name."""
        layout = self.layout_of(name)
        return self._runs.setdefault(layout.directory, WatchedRun(layout, self.cache))

    @property
    def runs(self) -> list[WatchedRun]:
        """All that were asked for since the start."""
        return list(self._runs.values())

    def listen(
        self,
        run: WatchedRun,
        encoding: Encoding,
        begin: Begin | StreamPosition = "active",
        include: Mapping[Companion, Encoding] | None = None,
        *,
        anywhere: bool = False,
        reason: str | None = None,
    ) -> Listener:
        """Begin to listen; `anywhere` goes to another run as soon as this one has nothing.

        A `reason` is told with the first source: why it is not where the listener wanted to be.
        """
        listener = Listener(self, run, Wishes(encoding, begin, include or {}, anywhere, reason))
        self._attend(run, listener)
        return listener

    def move(self, listener: Listener) -> None:
        """Take one who named no run, and found nothing, to the run that there is by now."""
        found = self.find(None)
        if found is not listener.run:
            self._dismiss(listener.run, listener)
            listener.go_to(found)
            self._attend(found, listener)

    def _attend(self, run: WatchedRun, listener: Listener) -> None:
        self.listeners.setdefault(run, set()).add(listener)
        if run not in self._looking:
            self._looking[run] = asyncio.create_task(self._look_regularly(run))
        run.look()
        self._watch(run)

    def left(self, listener: Listener) -> None:
        """One stopped listening; after the last, the run is no longer watched."""
        listener.close()
        self._dismiss(listener.run, listener)

    def _dismiss(self, run: WatchedRun, listener: Listener) -> None:
        listeners = self.listeners.get(run, set())
        listeners.discard(listener)
        if not listeners:
            self.listeners.pop(run, None)
            self._stop_looking(run)

    def stop(self) -> None:
        """Ask all listeners to leave; those who wait are woken, those who do not read are cut."""
        self.stopping = True
        for run, listeners in self.listeners.items():
            run.news.tell()
            for listener in listeners:
                listener.cut(LEAVE_SECONDS)

    async def close(self) -> None:
        """Let go of everything."""
        self.stop()
        tasks = list(self._looking.values())
        for run in list(self._looking):
            self._stop_looking(run)
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None

    def pause(self) -> float:
        """How long notifications are collected: longer the more there are who wait for them."""
        waiting = sum(run.news.waiting for run in self.listeners)
        return min(0.02, 0.001 + 0.00001 * waiting)

    def poke(self, run: WatchedRun) -> None:
        """Something changed, perhaps."""
        if run.look():
            self._watch(run)

    async def _look_regularly(self, run: WatchedRun) -> None:
        """By the clock: often where the kernel does not tell, and now and then in any case."""
        told = time.monotonic()
        run.samples.append((told, run.records_read))
        while True:
            await asyncio.sleep(self._interval(run))
            changed = run.look()
            if changed and run.why_polling is None and self._was_silent(run):
                self._poll(run, "the kernel did not tell of a change")
            self._watch(run)
            if time.monotonic() >= told + WATCH_SECONDS:
                told = time.monotonic()
                run.samples.append((told, run.records_read))
                # time passes for listeners too: heartbeats are due, clients have left
                run.news.tell()

    def _interval(self, run: WatchedRun) -> float:
        if not self._watches.get(run) and run.why_polling is None:
            return MISSING_SECONDS
        return WATCH_SECONDS if run.why_polling is None else POLL_SECONDS

    def _was_silent(self, run: WatchedRun) -> bool:
        """Whether a change went by without a notification."""
        if run.live is None or self._inotify is None or self._inotify.pending():
            return False
        return time.time() - os.fstat(run.live.descriptor).st_mtime > SILENT_SECONDS

    def _watch(self, run: WatchedRun) -> None:
        """Ask the kernel to tell of changes in a run's folders."""
        if run.why_polling is not None:
            return
        watches = self._watches.setdefault(run, {})
        folders = run.watched_folders()
        if set(watches) == set(folders):
            return
        for folder in set(watches) - set(folders):
            self._unwatch(watches.pop(folder))
        for folder in folders:
            if folder not in watches and is_folder(folder):
                self._watch_folder(run, folder, watches)

    def _watch_folder(self, run: WatchedRun, folder: Path, watches: dict[Path, int]) -> None:
        reason = why_not(folder)
        if reason is not None:
            self._poll(run, reason)
            return
        try:
            if self._inotify is None:
                self._inotify = Inotify(self.pause)
            watches[folder] = self._inotify.watch(
                folder, lambda: self.poke(run), lambda: watches.pop(folder, None)
            )
        except FileNotFoundError:
            return  # gone since it was listed
        except OSError as error:
            self._poll(run, f"inotify: {error.strerror}")
            return
        run.look()  # what changed before the watch was there

    def _poll(self, run: WatchedRun, reason: str) -> None:
        """From now on look often, and say why."""
        run.why_polling = reason
        for watch in self._watches.pop(run, {}).values():
            self._unwatch(watch)

    def _unwatch(self, watch: int) -> None:
        if self._inotify is not None:
            self._inotify.unwatch(watch)

    def _stop_looking(self, run: WatchedRun) -> None:
        task = self._looking.pop(run, None)
        if task is not None:
            task.cancel()
        for watch in self._watches.pop(run, {}).values():
            self._unwatch(watch)
        run.why_polling = None
        run.close()


def _newness(layout: RunLayout) -> tuple[bool, float]:
    return holder(layout.directory) is not None, _written(layout)


def _written(layout: RunLayout) -> float:
    """When anything was last written to a run.

    Not the time of its directory: that changes when somebody who reads the run keeps a cache there.
    """
    times = [0.0]
    snapshots = [layout.snapshot(step) for step in checkpoints(layout)[-1:]]
    for path in (layout.live, layout.run_info, layout.metrics, layout.segments, *snapshots):
        with suppress(OSError):
            times.append(os.lstat(path).st_mtime)
    return max(times)
