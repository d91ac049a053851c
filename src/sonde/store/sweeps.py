"""Sweeps that were asked for, and what they found, in one SQLite file: they outlive the server.

A record, not a queue: a sweep that was waiting or running when the server ended is not taken up
again. The next server marks it `interrupted`, because nobody knows how it would have gone on.
Written in transactions, so a killed server leaves every sweep as it was before or after one, never
between. (A power cut may cost the last few; it does not cost the file.)
Nothing here deletes what it does not understand: a file that is damaged, foreign or newer is
refused.
"""

import re
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import Lock

from pydantic import ValidationError

from sonde.errors import BadRequest, DataDirectoryError, UnknownSweep
from sonde.schema import Provenance, SweepEntry, SweepHistory, SweepRecord, SweepState, SweepSummary
from sonde.store.lock import DirectoryLock

FILE_NAME = "sweeps.sqlite3"
VERSION = 1
APPLICATION = 0x736F6E64
"""“sond”, in the file's header: how our file is told from somebody else's."""

MAX_PAGE = 1000
INTERRUPTED = "interrupted: the server ended before this sweep did; nothing of its result was kept"

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_CURSOR = re.compile(r"[0-9]{1,18}")
_FIELDS = "id, state, created, ended, cells, done, error, provenance"

_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE sweeps (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    created TEXT NOT NULL,
    ended TEXT,
    cells INTEGER,
    done INTEGER NOT NULL,
    error TEXT,
    provenance TEXT NOT NULL
);
CREATE TABLE results (
    number INTEGER PRIMARY KEY REFERENCES sweeps ON DELETE CASCADE,
    summary BLOB,
    events BLOB NOT NULL
);
CREATE INDEX unfinished ON sweeps (state) WHERE state IN ('waiting', 'running');
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
COMMIT;
"""
"""Results have a table of their own, so that a page of the history does not read past them."""


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
        self._held = DirectoryLock(directory)
        try:
            self._connection = self._opened()
            try:
                self._recover()
            except BaseException:
                self._connection.close()
                raise
        except BaseException:
            self._held.release()
            raise

    # What the server writes.

    def begin(self, entry: SweepEntry) -> None:
        """Take up a sweep, as a rule while it waits; the oldest ones beyond `keep` go."""
        if not _ID.fullmatch(entry.id):
            raise BadRequest(f"sweep id {entry.id[:64]!r} is not 1 to 64 letters, digits, '_', '-'")
        fields = entry.model_dump(mode="json", exclude={"provenance"})
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

    def running(self, sweep: str, cells: int) -> None:
        """Its axes are known and its cells are being computed."""
        with self._transaction() as run:
            number = _number(run, sweep)
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
        summary: SweepSummary | None,
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
            number = _number(run, sweep)
            run.execute(
                "UPDATE sweeps SET state = ?, ended = ?, cells = ?, done = ?, error = ? "
                "WHERE number = ?",
                (state, ended.isoformat(), cells, done, error, number),
            )
            run.execute("INSERT OR REPLACE INTO results VALUES (?, ?, ?)", (number, result, packed))

    # What is read back.

    def entry(self, sweep: str) -> SweepEntry:
        """One line of the history."""
        with self._reading() as run:
            row = run.execute(
                f"SELECT {_FIELDS} FROM sweeps WHERE number = ?", (_number(run, sweep),)
            ).fetchone()
            return _entry(row)

    def record(self, sweep: str) -> SweepRecord:
        """One sweep, whole."""
        with self._reading() as run:
            row = run.execute(
                f"SELECT {_FIELDS}, summary FROM sweeps LEFT JOIN results USING (number) "
                "WHERE number = ?",
                (_number(run, sweep),),
            ).fetchone()
            entry, packed = _entry(row[:-1]), row[-1]
            summary = None
            if packed is not None:
                summary = SweepSummary.model_validate_json(zlib.decompress(packed))
        fields = {name: getattr(entry, name) for name in SweepEntry.model_fields}
        return SweepRecord.model_construct(**fields, summary=summary)

    def events(self, sweep: str) -> list[bytes]:
        """Its events in the order in which they came; none while it has not ended."""
        with self._reading() as run:
            row = run.execute(
                "SELECT events FROM results WHERE number = ?", (_number(run, sweep),)
            ).fetchone()
            joined = b"" if row is None else zlib.decompress(row[0])
        return joined.split(b"\n") if joined else []

    def page(self, *, before: str | None = None, limit: int = 50) -> SweepHistory:
        """Newest first. Sweeps that begin or go meanwhile neither shift a later page nor end it."""
        if before is not None and not _CURSOR.fullmatch(before):
            raise BadRequest(f"before={before[:64]!r} is not the `next` of an earlier page")
        if not 1 <= limit <= MAX_PAGE:
            raise BadRequest(f"limit {limit} is out of range [1, {MAX_PAGE}]")
        with self._reading() as run:
            rows = run.execute(
                f"SELECT number, {_FIELDS} FROM sweeps WHERE number < ? "
                "ORDER BY number DESC LIMIT ?",
                (2**62 if before is None else int(before), limit + 1),
            ).fetchall()
            sweeps = [_entry(row[1:]) for row in rows[:limit]]
        return SweepHistory(sweeps=sweeps, next=str(rows[limit - 1][0]) if rows[limit:] else None)

    def close(self) -> None:
        """Let go of the file and of the directory. Once is enough; twice is no error."""
        with self._lock:
            self._connection.close()
            self._held.release()

    # The file.

    def _opened(self) -> sqlite3.Connection:
        """A connection to a file that is ours, of our version, and sound."""
        with self._explained():
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
            connection.executescript(_SCHEMA)
        elif application != APPLICATION:
            raise self._refusal("it is the database of another program")
        elif version > VERSION:
            raise self._refusal(
                f"it has version {version} and this Sonde knows {VERSION}: install a newer Sonde"
            )
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise self._refusal(f"it is damaged: {' '.join(found.split())}")

    def _recover(self) -> None:
        """What an earlier server left unfinished stays so, and says so."""
        with self._transaction() as run:
            run.execute(
                "UPDATE sweeps SET state = 'interrupted', error = ? "
                "WHERE state IN ('waiting', 'running')",
                (INTERRUPTED,),
            )
            self._forget_oldest(run)

    def _forget_oldest(self, run: sqlite3.Connection) -> None:
        """Numbers have no gaps but at the old end, so a difference of numbers counts sweeps."""
        run.execute(
            "DELETE FROM sweeps WHERE number <= (SELECT max(number) FROM sweeps) - ? "
            "AND state NOT IN ('waiting', 'running')",
            (self._keep,),
        )

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._explained():
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

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """What SQLite, zlib and pydantic find wrong with the file, as an error that names it."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._refusal(str(error)) from error
        except (zlib.error, ValidationError) as error:
            reason = str(error).splitlines()[0]
            raise self._refusal(f"a stored sweep cannot be read: {reason}") from error

    def _refusal(self, reason: str) -> DataDirectoryError:
        return DataDirectoryError(
            f"cannot use {str(self._path)!r}: {reason}. Nothing was deleted; move the file away, "
            "or choose another directory with --data-dir"
        )


def _number(run: sqlite3.Connection, sweep: str) -> int:
    """The row of a sweep; ids are checked before they are used for anything."""
    row = None
    if _ID.fullmatch(sweep):
        row = run.execute("SELECT number FROM sweeps WHERE id = ?", (sweep,)).fetchone()
    if row is None:
        raise UnknownSweep(sweep)
    return int(row[0])


def _entry(row: Sequence[object]) -> SweepEntry:
    *plain, provenance = row
    fields = dict(zip(_FIELDS.split(", "), plain, strict=False))
    return SweepEntry.model_validate(
        {**fields, "provenance": Provenance.model_validate_json(str(provenance))}
    )


def _encoded(summary: SweepSummary) -> bytes:
    """Without the tag it has as the last event of a stream."""
    return summary.model_dump_json(include=set(SweepSummary.model_fields)).encode()
