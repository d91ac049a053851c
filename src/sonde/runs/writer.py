"""A run directory, written: by one process, in whole lines, ready to be killed at any moment.

    with RunWriter.begin(layout) as writer:          # or RunWriter.resume(layout, step=50)
        writer.add(records=chunks, generations=lines, metrics=line)
        writer.spill()
        writer.checkpoint(50, metadata)

Lines wait in bounded spools until they are in a file, so a full disk never stops a training run:
what did not fit is counted, and writing goes on when there is room. A save waits with them: its
metadata is written once every line up to it is on disk, so a checkpoint that has metadata has all
its records, and a run that was killed before goes on from one that has. Not thread-safe: the
sidecar calls it from one thread. It knows nothing of models; what a line says is decided above.
"""

import json
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from sonde.errors import RunExists
from sonde.runs import rotation
from sonde.runs.append import AppendFile
from sonde.runs.archive import archive, run_found
from sonde.runs.atomic import write_json
from sonde.runs.layout import RunLayout
from sonde.runs.lock import WriterLock
from sonde.runs.spool import WAITING_BYTES, Chunk, Spool
from sonde.schema.records import Filed, RunInfo, RunMetadata


@dataclass
class Save:
    """A checkpoint whose records are on their way to disk."""

    step: int
    metadata: RunMetadata
    until: int
    """How many chunks of records belong to it and to those before."""
    closed: bool = False
    """Whether the live file has become its segment."""
    done: bool = False


class RunWriter:
    """The one writer of a run. Made by `begin` or `resume`."""

    def __init__(self, layout: RunLayout, lock: WriterLock, fragments: int, capacity: int) -> None:
        self.layout = layout
        self._lock = lock
        self._fragments = fragments
        self.records = Spool(AppendFile(layout.live), capacity)
        self.generations = Spool(AppendFile(layout.generations), capacity)
        self.metrics = Spool(AppendFile(layout.metrics), capacity)
        self.health = Spool(AppendFile(layout.health), capacity)
        self.telemetry = Spool(AppendFile(layout.telemetry), capacity)
        self.failure: OSError | None = None
        """Why the last checkpoint could not be closed."""
        self.unfinished: list[int] = []
        """Checkpoints that never got their metadata, and cannot be resumed from."""
        self._saves: deque[Save] = deque()

    @classmethod
    def begin(
        cls, layout: RunLayout, *, set_aside: bool = False, capacity: int = WAITING_BYTES
    ) -> Self:
        """A new run. A directory that holds one already is refused, or that one is set aside."""
        lock = _locked(layout.directory)
        if found := run_found(layout):
            if not set_aside:
                lock.release()
                raise RunExists(str(layout.directory), found)
            archive(layout)
        return cls(layout, lock, 0, capacity)

    @classmethod
    def resume(cls, layout: RunLayout, step: int, *, capacity: int = WAITING_BYTES) -> Self:
        """Go on after a checkpoint: what was written of later steps is set aside."""
        lock = _locked(layout.directory)
        return cls(layout, lock, rotation.resume(layout, step), capacity)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def fragments(self) -> int:
        """Half-written lines of an earlier process that were cut off."""
        return self._fragments + sum(spool.file.fragments_cut for spool in self._spools)

    @property
    def failures(self) -> list[str]:
        """What could not be written when it was last tried, and why."""
        each = [spool.failure for spool in self._spools] + [self.failure]
        return [str(failure) for failure in each if failure is not None]

    @property
    def waiting_saves(self) -> list[int]:
        """Checkpoints that wait for their records."""
        return [save.step for save in self._saves]

    def describe(self, info: RunInfo) -> None:
        """Write `run.json`."""
        write_json(self.layout.run_info, info.model_dump(by_alias=True))

    def add(
        self,
        *,
        records: Iterable[Chunk] = (),
        generations: Iterable[Filed] = (),
        metrics: Filed | None = None,
    ) -> None:
        """Let a step's lines wait for the next spill. Each chunk of records is one generation.

        Where too many wait for a spill that is not due, they are spilled now.
        """
        for generation in generations:
            self._let_wait(self.generations, Chunk(line(generation), 1))
        if metrics is not None:
            self._let_wait(self.metrics, Chunk(line(metrics), 1))
        for chunk in records:
            self._let_wait(self.records, chunk)

    def _let_wait(self, spool: Spool, chunk: Chunk) -> None:
        """Make room first: only a disk that cannot be written is a reason to leave lines out."""
        if not spool.has_room(chunk):
            self.spill()
        spool.put(chunk)

    def spill(self, *, records: bool = True) -> bool:
        """Write what waits; a record never before its generation. Whether all of it was written."""
        if not (self.generations.spill() and self.metrics.spill()):
            return False
        return self._finish_saves() and (not records or self.records.spill())

    def report(self, health: Filed) -> bool:
        """Write a line about how recording goes."""
        self.health.put(Chunk(line(health), 1))
        return self.health.spill()

    def tell(self, telemetry: Filed) -> bool:
        """Write a line of telemetry."""
        self.telemetry.put(Chunk(line(telemetry), 1))
        return self.telemetry.spill()

    def sync(self) -> bool:
        """Spill everything, and return when it is on disk. Whether it is."""
        try:
            written = self.spill()
            self._sync()
        except OSError as failure:
            self.failure = failure
            return False
        return written

    def checkpoint(self, step: int, metadata: RunMetadata) -> bool:
        """Close the live file as the records of a checkpoint. Whether that is done.

        If not, it waits for the records that wait, and is tried again with every spill. The
        metadata is written last: a checkpoint that has it has everything.
        """
        save = Save(step, metadata, self.records.taken)
        self._saves.append(save)
        self.spill()
        return save.done

    def _finish_saves(self) -> bool:
        """Go on with the saves that wait. Whether records after them may be written."""
        for save in list(self._saves):
            if not save.closed:
                if not self.records.spill(save.until):
                    return False
                if not self._close_live(save):
                    if save in self._saves and self.records.taken == save.until:
                        return False  # no later record waits: try again with the next spill
                    self._give_up(save)
                    continue
            if self._link_and_describe(save):
                self._saves.remove(save)
            elif not self.layout.checkpoint(save.step).is_dir():
                self._give_up(save)  # the trainer has deleted it
        return True

    def _close_live(self, save: Save) -> bool:
        """Make the live file a segment. If that fails, its records stay, for the next save."""
        try:
            self._sync()
        except OSError as failure:
            self.failure = failure
            self._give_up(save)  # the kernel may have forgotten what it could not write: ask once
            return False
        try:
            self.records.file.close()
            rotation.close_live(self.layout, save.step)
        except OSError as failure:
            self.failure = failure
            return False
        save.closed = True
        return True

    def _link_and_describe(self, save: Save) -> bool:
        try:
            rotation.snapshot(self.layout, save.step)
            write_json(self.layout.metadata(save.step), save.metadata.model_dump())
        except OSError as failure:
            self.failure = failure
            return False
        self.failure = None
        save.done = True
        return True

    def _give_up(self, save: Save) -> None:
        """This checkpoint cannot be resumed from; its records are part of the run all the same."""
        if save in self._saves:
            self._saves.remove(save)
            self.unfinished.append(save.step)

    def _sync(self) -> None:
        for spool in self._spools:
            spool.file.sync()

    def give_up(self) -> None:
        """Spill for the last time; what cannot be written now is lost, and counted."""
        self.spill()
        self.health.spill()
        self.telemetry.spill()
        self.unfinished += self.waiting_saves
        self._saves.clear()
        for spool in self._spools:
            spool.give_up()

    def close(self) -> None:
        """Spill what waits, or give it up, and let the run go."""
        self.give_up()
        for spool in self._spools:
            spool.file.close()
        self._lock.release()

    @property
    def _spools(self) -> tuple[Spool, ...]:
        return (self.generations, self.metrics, self.records, self.health, self.telemetry)


def line(value: Filed) -> bytes:
    """One line of JSON, in ASCII: no separator that some readers take for a newline."""
    text = json.dumps(value.model_dump(by_alias=True), allow_nan=False, separators=(",", ":"))
    return f"{text}\n".encode("ascii")


def _locked(directory: Path) -> WriterLock:
    directory.mkdir(parents=True, exist_ok=True)
    return WriterLock(directory)
