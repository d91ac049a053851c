"""The history of somebody else's sweeps: what a server without a model shows, and has said of them.

It holds nothing between two questions, so that a server with a model can take the directory over at
any time. What people say of a sweep is written in one transaction, beside the server that computes
others. Sweeps of a server that was killed say so as soon as they are asked about: if a sweep is
unfinished and nobody holds the directory, nobody is computing it.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from sonde.errors import DataDirectoryError, HistoryReadOnly, UnknownSweep
from sonde.schema import Remarks, SweepEntry, SweepHistory, SweepKind, SweepRecord
from sonde.store.lock import DirectoryLock
from sonde.store.remarks import forget, remark
from sonde.store.sweep_file import (
    EVERY,
    FILE_NAME,
    VERSION,
    Only,
    check_header,
    check_page,
    explained,
    has_unfinished,
    mark_interrupted,
    migrate,
    number_of,
    read_entry,
    read_events,
    read_page,
    read_record,
    version_of,
)


class PastSweeps:
    """The history under a data directory, whichever process writes it. Safe across threads."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / FILE_NAME

    def record(self, sweep: str) -> SweepRecord:
        """One sweep, whole."""
        with self._reading() as run:
            if run is None:
                raise UnknownSweep(sweep)
            return read_record(run, sweep)

    def events(self, sweep: str) -> list[bytes]:
        """Its events in the order in which they came; none while it has not ended."""
        with self._reading() as run:
            if run is None:
                raise UnknownSweep(sweep)
            return read_events(run, sweep)

    def kind(self, sweep: str) -> SweepKind:
        """Which route it was asked of."""
        with self._reading() as run:
            if run is None:
                raise UnknownSweep(sweep)
            return read_entry(run, sweep).kind

    def page(
        self, *, before: str | None = None, limit: int = 50, only: Only = EVERY
    ) -> SweepHistory:
        """Newest first; empty where no server ever kept a sweep."""
        check_page(before, limit)
        with self._reading() as run:
            if run is None:
                return SweepHistory(sweeps=[], next=None)
            return read_page(run, before, limit, only)

    def remark(self, sweep: str, said: Remarks) -> SweepEntry:
        """Name it, note something, give or take its star."""
        with self._writing(sweep) as run:
            return remark(run, sweep, said)

    def forget(self, sweep: str) -> SweepEntry:
        """Delete it with all it found. -> what it was"""
        with self._writing(sweep) as run:
            return forget(run, sweep)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """A connection that cannot write, after what was left behind is marked; None: no file."""
        if not self._path.is_file():
            yield None
            return
        with explained(self._path), closing(self._connected("ro")) as run:
            check_header(run, self._path)
            if has_unfinished(run):
                self._settle()
            yield run

    @contextmanager
    def _writing(self, sweep: str) -> Iterator[sqlite3.Connection]:
        """A transaction on a sweep that is there, in a file of this version."""
        with self._reading() as run:
            if run is None:
                raise UnknownSweep(sweep)
            number_of(run, sweep)
            version = version_of(run)
        with explained(self._path), self._told_why(), closing(self._connected("rw")) as run:
            if version < VERSION:
                self._renew(run, version)
            run.execute("PRAGMA foreign_keys = ON")
            run.execute("BEGIN IMMEDIATE")
            try:
                yield run
                run.execute("COMMIT")
            except BaseException:
                if run.in_transaction:
                    run.execute("ROLLBACK")
                raise

    def _renew(self, run: sqlite3.Connection, version: int) -> None:
        """Bring an older file up to date, unless a server of an older Sonde is at work on it."""
        held = DirectoryLock(self._directory)
        try:
            migrate(run, version)
        finally:
            held.release()

    @contextmanager
    def _told_why(self) -> Iterator[None]:
        """A process that may read and not write says that, and not that the file is at fault."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
                raise HistoryReadOnly(str(self._path), str(error)) from error
            raise

    def _settle(self) -> None:
        """Mark what a killed server left, unless a server is at work."""
        try:
            held = DirectoryLock(self._directory)
        except DataDirectoryError:  # a server is at work, or we may not write here
            return
        try:
            with closing(self._connected("rw")) as run:
                mark_interrupted(run)
        finally:
            held.release()

    def _connected(self, mode: str) -> sqlite3.Connection:
        place = f"file:{quote(str(self._path.absolute()))}?mode={mode}"
        return sqlite3.connect(place, uri=True, isolation_level=None, timeout=10.0)
