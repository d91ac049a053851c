"""What is in the file of the history, and how it is read; who may write it, `sweeps` knows.

Functions of a connection, so that the process that holds the directory and one that only looks
read the same.
"""

import re
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from sonde.errors import BadRequest, DataDirectoryError, UnknownSweep
from sonde.schema import (
    Provenance,
    SweepEntry,
    SweepHistory,
    SweepKind,
    SweepRecord,
    SweepSummary,
)
from sonde.schema.table import SweepTable

FILE_NAME = "sweeps.sqlite3"
VERSION = 4
APPLICATION = 0x736F6E64
"""“sond”, in the file's header: how our file is told from somebody else's."""

MAX_PAGE = 1000
INTERRUPTED = "interrupted: the server ended before this sweep did; nothing of its result was kept"

SWEEP_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_CURSOR = re.compile(r"[0-9]{1,18}")
_FIELDS = (
    "id", "state", "created", "ended", "cells", "done", "error", "kind",
    "name", "note", "starred", "provenance",
)  # fmt: skip
_SINCE = {"kind": (2, "'classic'"), "name": (4, "''"), "note": (4, "''"), "starred": (4, "0")}
"""The version of the file that brought a field, and what it is in older ones."""

REMARKS = """
ALTER TABLE sweeps ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE sweeps ADD COLUMN note TEXT NOT NULL DEFAULT '';
ALTER TABLE sweeps ADD COLUMN starred INTEGER NOT NULL DEFAULT 0;
CREATE INDEX by_star ON sweeps (starred, number)
"""
"""What people say of sweeps (`remarks`), and a quick way to those with a star and without."""

PROGRESS = """
CREATE TABLE IF NOT EXISTS requests (
    number INTEGER PRIMARY KEY REFERENCES sweeps ON DELETE CASCADE,
    request BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS pairs (
    number INTEGER NOT NULL REFERENCES sweeps ON DELETE CASCADE,
    pair INTEGER NOT NULL,
    event BLOB NOT NULL,
    PRIMARY KEY (number, pair)
) WITHOUT ROWID;
"""
"""How far sweeps over pairs came that have not finished (`progress`)."""

SCHEMA = f"""
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
    provenance TEXT NOT NULL,
    kind TEXT NOT NULL DEFAULT 'classic'
);
CREATE TABLE results (
    number INTEGER PRIMARY KEY REFERENCES sweeps ON DELETE CASCADE,
    summary BLOB,
    events BLOB NOT NULL
);
{PROGRESS}
{REMARKS};
CREATE INDEX unfinished ON sweeps (state) WHERE state IN ('waiting', 'running');
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
COMMIT;
"""
"""Results have a table of their own, so that a page of the history does not read past them."""

MIGRATIONS: dict[int, str] = {
    1: "ALTER TABLE sweeps ADD COLUMN kind TEXT NOT NULL DEFAULT 'classic'",
    2: PROGRESS,
    3: REMARKS,
}
"""What makes a file of a version one of the next. Before version 2 all sweeps were classic, before
version 3 none was over pairs, before version 4 none had a name, a note or a star."""


@dataclass(frozen=True)
class Only:
    """Which sweeps of the history are wanted: by default all of them."""

    kind: SweepKind | None = None
    starred: bool = False
    words: str = ""
    """All of them, in any order and case, in name, note, id or request."""


EVERY = Only()

_UNFINISHED = "state IN ('waiting', 'running')"


def mark_interrupted(run: sqlite3.Connection) -> None:
    """What has not ended never will: say so."""
    run.execute(
        f"UPDATE sweeps SET state = 'interrupted', error = ? WHERE {_UNFINISHED}", (INTERRUPTED,)
    )


def has_unfinished(run: sqlite3.Connection) -> bool:
    """Whether a sweep waits or runs, as far as the file knows."""
    return run.execute(f"SELECT 1 FROM sweeps WHERE {_UNFINISHED} LIMIT 1").fetchone() is not None


def read_entry(run: sqlite3.Connection, sweep: str) -> SweepEntry:
    """One line of the history."""
    row = run.execute(
        f"SELECT {_fields(run)} FROM sweeps WHERE number = ?", (number_of(run, sweep),)
    ).fetchone()
    return _entry(row)


def read_record(run: sqlite3.Connection, sweep: str) -> SweepRecord:
    """One sweep, whole."""
    row = run.execute(
        f"SELECT {_fields(run)}, summary FROM sweeps LEFT JOIN results USING (number) "
        "WHERE number = ?",
        (number_of(run, sweep),),
    ).fetchone()
    entry, packed = _entry(row[:-1]), row[-1]
    summary, table = None, None
    if packed is not None and entry.kind == "classic":
        summary = SweepSummary.model_validate_json(zlib.decompress(packed))
    elif packed is not None:
        table = SweepTable.model_validate_json(zlib.decompress(packed))
    fields = {name: getattr(entry, name) for name in SweepEntry.model_fields}
    return SweepRecord.model_construct(**fields, summary=summary, table=table)


def read_events(run: sqlite3.Connection, sweep: str) -> list[bytes]:
    """Its events in the order in which they came; none while it has not ended."""
    row = run.execute(
        "SELECT events FROM results WHERE number = ?", (number_of(run, sweep),)
    ).fetchone()
    joined = b"" if row is None else zlib.decompress(row[0])
    return joined.split(b"\n") if joined else []


def check_page(before: str | None, limit: int) -> None:
    """Refuse what is no page, before the file is opened for it."""
    if before is not None and not _CURSOR.fullmatch(before):
        raise BadRequest(f"before={before[:64]!r} is not the `next` of an earlier page")
    if not 1 <= limit <= MAX_PAGE:
        raise BadRequest(f"limit {limit} is out of range [1, {MAX_PAGE}]")


def read_page(
    run: sqlite3.Connection, before: str | None, limit: int, only: Only = EVERY
) -> SweepHistory:
    """Newest first. Sweeps that begin or go meanwhile neither shift a later page nor end it."""
    wanted = ["number < ?"]
    values: list[object] = [2**62 if before is None else int(before)]
    if only.kind is not None:
        wanted.append("kind = ?")
        values.append(only.kind)
    if only.starred:
        wanted.append("starred = 1")
    if words := only.words.casefold().split():
        asked = "json_extract(provenance, '$.request')"
        wanted.append(f"has_words(id || ' ' || name || ' ' || note || ' ' || {asked})")
        run.create_function("has_words", 1, lambda text: all(w in text.casefold() for w in words))
    rows = run.execute(
        f"SELECT * FROM (SELECT number, {_fields(run)} FROM sweeps) "
        f"WHERE {' AND '.join(wanted)} ORDER BY number DESC LIMIT ?",
        (*values, limit + 1),
    ).fetchall()
    sweeps = [_entry(row[1:]) for row in rows[:limit]]
    return SweepHistory(sweeps=sweeps, next=str(rows[limit - 1][0]) if rows[limit:] else None)


def number_of(run: sqlite3.Connection, sweep: str) -> int:
    """The row of a sweep; ids are checked before they are used for anything."""
    row = None
    if SWEEP_ID.fullmatch(sweep):
        row = run.execute("SELECT number FROM sweeps WHERE id = ?", (sweep,)).fetchone()
    if row is None:
        raise UnknownSweep(sweep)
    return int(row[0])


def version_of(run: sqlite3.Connection) -> int:
    """Which version of the file this is."""
    (version,) = run.execute("PRAGMA user_version").fetchone()
    return int(version)


def migrate(run: sqlite3.Connection, version: int) -> None:
    """Make a file of an older version one of ours, a version at a time."""
    for known in range(version, VERSION):
        run.executescript(
            f"BEGIN IMMEDIATE; {MIGRATIONS[known]}; PRAGMA user_version = {known + 1}; COMMIT;"
        )


def check_header(run: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is not ours, or newer than we are."""
    (application,) = run.execute("PRAGMA application_id").fetchone()
    version = version_of(run)
    if application != APPLICATION:
        raise refusal(path, "it is the database of another program")
    if version > VERSION:
        raise refusal(
            path, f"it has version {version} and this Sonde knows {VERSION}: install a newer Sonde"
        )


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """What SQLite, zlib and pydantic find wrong with the file, as an error that names it."""
    try:
        yield
    except sqlite3.Error as error:
        raise refusal(path, str(error)) from error
    except (zlib.error, ValidationError) as error:
        reason = str(error).splitlines()[0]
        raise refusal(path, f"a stored sweep cannot be read: {reason}") from error


def refusal(path: Path, reason: str) -> DataDirectoryError:
    """Why the file is left alone, and what to do."""
    return DataDirectoryError(
        f"cannot use {str(path)!r}: {reason}. Nothing was deleted; move the file away, "
        "or choose another directory with --data-dir"
    )


def _fields(run: sqlite3.Connection) -> str:
    """Columns in the order of `_FIELDS`; a file that is only read may be older and lack some."""
    version = version_of(run)
    early = {name: f"{value} AS {name}" for name, (v, value) in _SINCE.items() if v > version}
    return ", ".join(early.get(name, name) for name in _FIELDS)


def _entry(row: Sequence[object]) -> SweepEntry:
    *plain, provenance = row
    fields = dict(zip(_FIELDS, plain, strict=False))
    return SweepEntry.model_validate(
        {**fields, "provenance": Provenance.model_validate_json(str(provenance))}
    )
