"""Records of a run, read as they are written: what is new goes to a tail, a full one to a volume.

1. **Check** that files still hold what was read from them. If not, begin again from the volumes
   that still match; at most one tail's worth of lines is read twice.
2. **Read**  whole lines on from each file's mark, in slices.
3. **Seal**  the tail as a volume when it has 131,072 lines: always after the same line, so that two
   processes make the same volumes.
4. **Sum up** the rest of the tail in pieces of 16,384 records; only the last piece still grows.

Memory holds one slice, one tail and its pieces, whatever the size of the run. One thread at a time
may call `advance`; what it returns does not change afterwards and may be read by any.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from sonde.errors import AnalyticsFailed
from sonde.runs.analytics.cache import Caches
from sonde.runs.analytics.compact import VOLUME_RECORDS, Span, Volume, located, read_all, write
from sonde.runs.analytics.goodlines import records
from sonde.runs.analytics.losses import Losses
from sonde.runs.analytics.parts import sum_up
from sonde.runs.analytics.reading import Mark, history, holds, mark, opened, pieces
from sonde.runs.analytics.tail import Tail
from sonde.runs.files import Identity, LineFile
from sonde.runs.layout import RunLayout

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SLICE_BYTES = 8 * 2**20
PIECE_RECORDS = 2**14
FOREVER = 10**9

_names = count()


@dataclass(frozen=True)
class Ingested:
    """What was read so far."""

    parts: tuple[Losses, ...] = ()
    bytes_read: int = 0
    bytes_total: int = 0
    withheld: int = 0
    cache: Path | None = None

    @property
    def complete(self) -> bool:
        """Whether that is all there was."""
        return self.bytes_read >= self.bytes_total


@dataclass
class _Reading:
    """How far one file was read, and whether to its last whole line."""

    fingerprint: str
    end: Mark
    ended: bool = False


@dataclass
class _Open:
    """The tail: what it was read from, and the sums of its pieces."""

    tail: Tail
    lines: int = 0
    withheld: int = 0
    begun: dict[Identity, int] = field(default_factory=dict)
    """Where in each file its lines begin."""
    pieces: list[Losses] = field(default_factory=list)
    summed: int = 0


class Ingest:
    """The records of one run."""

    def __init__(
        self,
        connection: "DuckDBPyConnection",
        layout: RunLayout,
        caches: Caches | None = None,
        *,
        volume_records: int = VOLUME_RECORDS,
        piece_records: int = PIECE_RECORDS,
    ) -> None:
        self._connection = connection
        self._layout = layout
        self._caches = caches or Caches(layout.directory)
        self._volume_records, self._piece_records = volume_records, piece_records
        self._volumes: list[tuple[Volume, Losses]] = []
        self._files: dict[Identity, _Reading] = {}
        self._name = f"tail_{next(_names)}"
        self._open: _Open | None = None
        self._before: Tail | None = None
        self.stop = False
        """Set by another thread to end `advance` soon."""
        self.pause = 0.0
        """Seconds to wait after each block, so that other threads get the interpreter's lock."""

    def advance(
        self, seconds: float = FOREVER, clock: Callable[[], float] = time.monotonic
    ) -> Ingested:
        """Read what is new, for about so long."""
        deadline = clock() + seconds
        files = opened(history(self._layout))
        try:
            if self._open is None or not self._check(files):
                self._begin(files)
            for file in files:
                self._read(file, lambda: self.stop or clock() > deadline)
            return self._ingested(files)
        finally:
            for file in files:
                file.close()

    def close(self) -> None:
        """Forget the tail, and what was kept for this process only."""
        if self._open is not None:
            self._open.tail.drop()
        if self._before is not None:
            self._before.drop()
        self._caches.close()

    def _check(self, files: list[LineFile]) -> bool:
        """Whether everything that was read is still there."""
        here = {file.identity: file for file in files}
        for identity, reading in self._files.items():
            file = here.get(identity)
            if file is None or file.fingerprint != reading.fingerprint:
                return False
            if not holds(file.descriptor, reading.end):
                return False
        return True

    def _begin(self, files: list[LineFile]) -> None:
        """Start from the volumes that match the files, with an empty tail."""
        here = {file.identity: file for file in files}
        self._files.clear()
        self._volumes = [
            (volume, Losses(volume.part, volume.directory))
            for volume in read_all(self._caches.existing(), files)
        ]
        for volume, _ in self._volumes:
            for span in volume.spans:
                if (file := located(span, here)) is not None:
                    self._files[file.identity] = _Reading(span.fingerprint, span.end)
        self._new_tail()

    def _new_tail(self) -> None:
        """Begin another tail; the one before stays, because somebody may be asking it."""
        if self._before is not None:
            self._before.drop()
        self._before = self._open.tail if self._open else None
        self._open = _Open(Tail(self._connection, f"{self._name}_{next(_names)}"))

    def _read(self, file: LineFile, enough: Callable[[], bool]) -> None:
        """Read a file from its mark to its end, or until it is enough."""
        if file.fingerprint is None:
            return
        reading = self._files.setdefault(file.identity, _Reading(file.fingerprint, Mark(0, "")))
        reading.ended = False
        while not reading.ended and not enough():
            reading.ended = not self._slice(file, reading)
            if self._open is not None and self._open.lines >= self._volume_records:
                self._seal()

    def _slice(self, file: LineFile, reading: _Reading) -> bool:
        """Read some lines into the tail. -> whether there were any"""
        assert self._open is not None
        start = end = reading.end.offset
        room = self._volume_records - self._open.lines
        lines: list[bytes] = []
        for piece in pieces(file.descriptor, start):
            good = records(piece, room - len(lines))
            lines += good.lines
            self._open.withheld += good.withheld
            end = good.end
            if end - start >= SLICE_BYTES or len(lines) >= room:
                break
            if self.pause:
                time.sleep(self.pause)
        if end == start:
            return False
        self._open.begun.setdefault(file.identity, start)
        self._open.withheld += self._open.tail.add(lines)
        self._open.lines += len(lines)
        reading.end = mark(file.descriptor, end)
        return True

    def _seal(self) -> None:
        """Compact the tail, and begin another."""
        full = self._open
        assert full is not None
        if not full.tail.rows:
            full.lines = 0
            return
        spans = tuple(
            Span(*identity, self._files[identity].fingerprint, start, self._files[identity].end)
            for identity, start in full.begun.items()
        )
        volume = self._written(full, spans)
        self._volumes.append((volume, Losses(volume.part, volume.directory)))
        self._new_tail()

    def _written(self, full: _Open, spans: tuple[Span, ...]) -> Volume:
        """Write a volume to the first place that takes it."""
        from duckdb import Error

        number, rows = len(self._volumes), full.tail.rows_from(0, full.tail.rows)
        before = [self._volumes[-1][0].directory.parent] if self._volumes else []
        failures = []
        for cache in chain(before, self._caches.writable()):
            try:
                return write(self._connection, rows, cache, number, spans, full.withheld)
            except (OSError, Error) as failure:
                failures.append(f"{cache}: {failure}")
        raise AnalyticsFailed(failures)

    def _ingested(self, files: list[LineFile]) -> Ingested:
        tail = self._open
        assert tail is not None
        self._sum_up(tail)
        read = total = 0
        for file in files:
            reading = self._files.get(file.identity)
            if reading is not None:
                read += reading.end.offset
                total += reading.end.offset if reading.ended else file.size
        return Ingested(
            (*(losses for _, losses in self._volumes), *tail.pieces),
            read,
            total,
            tail.withheld + sum(volume.withheld for volume, _ in self._volumes),
            self._volumes[-1][0].directory.parent if self._volumes else None,
        )

    def _sum_up(self, tail: _Open) -> None:
        """Sum up the pieces that have changed: the last one, and what came after it."""
        rows = tail.tail.rows
        if tail.summed == rows:
            return
        full = tail.summed // self._piece_records
        del tail.pieces[full:]
        for start in range(full * self._piece_records, rows, self._piece_records):
            end = min(start + self._piece_records, rows)
            part = sum_up(self._connection, tail.tail.rows_from(start, end))
            tail.pieces.append(Losses(part))
        tail.summed = rows
