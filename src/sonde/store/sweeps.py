"""Sweeps that were asked for, and what they found, in one SQLite file: they outlive the server.

A record, not a queue: a sweep that was waiting or running when the server ended is not taken up
again. It is marked `interrupted`, because nobody knows how it would have gone on: by the server as
it ends, and after a kill by the process that opens the history next, be it only to read (`past`).
Written in transactions, so a killed server leaves every sweep as it was before or after one, never
between. (A power cut may cost the last few; it does not cost the file.)
Nothing here deletes what it does not understand: a file that is damaged, foreign or newer is
refused.
"""

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import Lock

from sonde.errors import BadRequest
from sonde.schema import (
    Provenance,
    Remarks,
    SweepEntry,
    SweepHistory,
    SweepKind,
    SweepRecord,
    SweepState,
    SweepSummary,
)
from sonde.schema.table import SweepTable
from sonde.store import progress
from sonde.store.lock import DirectoryLock
from sonde.store.remarks import forget, remark
from sonde.store.sweep_file import (
    EVERY,
    FILE_NAME,
    SCHEMA,
    SWEEP_ID,
    VERSION,
    Only,
    check_header,
    check_page,
    explained,
    mark_interrupted,
    migrate,
    number_of,
    read_entry,
    read_events,
    read_page,
    read_record,
    refusal,
)

LOCK_PATIENCE = 0.5
"""A process that marks the sweeps of a killed server holds the directory for milliseconds."""


class SweepStore:
    """The history under one data directory. Safe across threads; one process at a time.

    SweepStore(Path("~/.local/share/sonde").expanduser())
    SweepStore(tmp_path, keep=100)      # the oldest beyond a hundred go
    """

    def __init__(self, directory: Path, *, keep: int = 10_000) -> None:
        if keep < 1:
            raise BadRequest(f"keep is {keep} sweeps; keep at least 1")
        self._path = directory / FILE_NAME
        self._keep = keep
        self._lock = Lock()
        self._closed = False
        self._held = DirectoryLock(directory, LOCK_PATIENCE)
        try:
            self._connection = self._opened()
            try:
                with self._transaction() as run:
                    mark_interrupted(run)
                    self._forget_oldest(run)
            except BaseException:
                self._connection.close()
                raise
        except BaseException:
            self._held.release()
            raise

    # What the server writes.

    def begin(self, entry: SweepEntry) -> None:
        """Take up a sweep, as a rule while it waits; the oldest ones beyond `keep` go."""
        if not SWEEP_ID.fullmatch(entry.id):
            raise BadRequest(f"sweep id {entry.id[:64]!r} is not 1 to 64 letters, digits, '_', '-'")
        fields = entry.model_dump(mode="json", exclude={"provenance"}) | {"kind": entry.kind}
        values = [*fields.values(), entry.provenance.model_dump_json()]
        with self._transaction() as run:
            try:
                run.execute(
                    f"INSERT INTO sweeps ({', '.join(fields)}, provenance) "
                    f"VALUES ({', '.join('?' * len(values))})",
                    values,
                )
            except sqlite3.IntegrityError as error:
                raise BadRequest(f"there is a sweep {entry.id!r} already") from error
            self._forget_oldest(run)

    def described(self, sweep: str, provenance: Provenance) -> None:
        """Its model has been loaded: from here on it is known what the sweep is made on."""
        with self._transaction() as run:
            run.execute(
                "UPDATE sweeps SET provenance = ? WHERE number = ?",
                (provenance.model_dump_json(), number_of(run, sweep)),
            )

    def running(self, sweep: str, cells: int) -> None:
        """Its axes are known and its cells are being computed."""
        with self._transaction() as run:
            number = number_of(run, sweep)
            run.execute(
                "UPDATE sweeps SET state = 'running', cells = ? WHERE number = ?", (cells, number)
            )

    def end(
        self,
        sweep: str,
        *,
        state: SweepState,
        ended: datetime,
        cells: int | None,
        done: int,
        error: str | None,
        summary: SweepSummary | SweepTable | None,
        events: Sequence[bytes],
    ) -> None:
        """How it ended and all that came of it, at once.

        `events` are the encoded JSON of each, in order: one line each, as JSON encoders make them.
        """
        if any(b"\n" in event for event in events):
            raise ValueError("an event is one line of JSON")
        packed = zlib.compress(b"\n".join(events))
        result = None if summary is None else zlib.compress(_encoded(summary))
        with self._transaction() as run:
            number = number_of(run, sweep)
            run.execute(
                "UPDATE sweeps SET state = ?, ended = ?, cells = ?, done = ?, error = ? "
                "WHERE number = ?",
                (state, ended.isoformat(), cells, done, error, number),
            )
            run.execute("INSERT OR REPLACE INTO results VALUES (?, ?, ?)", (number, result, packed))
            if state == "finished":
                progress.forget(run, sweep)

    def keep_request(self, sweep: str, request: bytes) -> None:
        """What a sweep over pairs was asked, so that it can go on after a restart."""
        with self._transaction() as run:
            progress.write_request(run, sweep, request)

    def keep_pair(self, sweep: str, pair: int, event: bytes) -> None:
        """A pair that is done."""
        with self._transaction() as run:
            progress.write_pair(run, sweep, pair, event)

    # What people say of it.

    def remark(self, sweep: str, said: Remarks) -> SweepEntry:
        """Name it, note something, give or take its star."""
        with self._transaction() as run:
            return remark(run, sweep, said)

    def forget(self, sweep: str) -> SweepEntry:
        """Delete it with all it found. -> what it was"""
        with self._transaction() as run:
            return forget(run, sweep)

    # What is read back.

    def entry(self, sweep: str) -> SweepEntry:
        """One line of the history."""
        with self._reading() as run:
            return read_entry(run, sweep)

    def record(self, sweep: str) -> SweepRecord:
        """One sweep, whole."""
        with self._reading() as run:
            return read_record(run, sweep)

    def events(self, sweep: str) -> list[bytes]:
        """Its events in the order in which they came; none while it has not ended."""
        with self._reading() as run:
            return read_events(run, sweep)

    def progress(self, sweep: str) -> progress.Progress | None:
        """How far a sweep over pairs came; None of others, and of one that finished."""
        with self._reading() as run:
            return progress.read(run, sweep)

    def kind(self, sweep: str) -> SweepKind:
        """Which route it was asked of."""
        return self.entry(sweep).kind

    def page(
        self, *, before: str | None = None, limit: int = 50, only: Only = EVERY
    ) -> SweepHistory:
        """Newest first. Sweeps that begin or go meanwhile neither shift a later page nor end it."""
        check_page(before, limit)
        with self._reading() as run:
            return read_page(run, before, limit, only)

    def close(self) -> None:
        """Let go of the file and of the directory. Once is enough; twice is no error.

        What is unfinished then stays so, and the file says so at once: the next server may be long
        in coming.
        """
        if self._closed:
            return
        self._closed = True
        try:
            with self._transaction() as run:
                mark_interrupted(run)
        finally:
            with self._lock:
                self._connection.close()
                self._held.release()

    # The file.

    def _opened(self) -> sqlite3.Connection:
        """A connection to a file that is ours, of our version, and sound."""
        with explained(self._path):
            connection = sqlite3.connect(
                self._path, isolation_level=None, check_same_thread=False, timeout=10.0
            )
            try:
                self._check(connection)
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute("PRAGMA foreign_keys = ON")
            except BaseException:
                connection.close()
                raise
            return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        """Refuse what is not ours to write, before anything is written."""
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if (application, version, tables) == (0, 0, 0):
            self._path.chmod(0o600)
            connection.executescript(SCHEMA)
        check_header(connection, self._path)
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise refusal(self._path, f"it is damaged: {' '.join(found.split())}")
        migrate(connection, version or VERSION)

    def _forget_oldest(self, run: sqlite3.Connection) -> None:
        """The oldest beyond `keep` of those without a star; those with one are not counted."""
        run.execute(
            "DELETE FROM sweeps WHERE starred = 0 AND state NOT IN ('waiting', 'running') "
            "AND number <= (SELECT number FROM sweeps WHERE starred = 0 "
            "ORDER BY number DESC LIMIT 1 OFFSET ?)",
            (self._keep,),
        )

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, explained(self._path):
            yield self._connection

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing of it."""
        with self._reading() as run:
            run.execute("BEGIN IMMEDIATE")
            try:
                yield run
                run.execute("COMMIT")
            except BaseException:
                if run.in_transaction:
                    run.execute("ROLLBACK")
                raise


def _encoded(summary: SweepSummary | SweepTable) -> bytes:
    """Without the tag it has as the last event of a stream."""
    return summary.model_dump_json(exclude={"type"}).encode()
