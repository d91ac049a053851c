"""How far a sweep over many pairs came: its request, and the pairs that are done.

Written pair by pair, so that a killed server costs the pairs that were under way and no others. A
sweep that finished has all of it in its result, and nothing here. Functions of a connection.
"""

import sqlite3
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from sonde.store.sweep_file import number_of


@dataclass(frozen=True)
class Progress:
    """What a sweep was asked, and what it has of it, as they were encoded."""

    request: bytes
    done: Sequence[bytes]


def write_request(run: sqlite3.Connection, sweep: str, request: bytes) -> None:
    """What was asked: needed whole, to go on with it."""
    values = (number_of(run, sweep), zlib.compress(request))
    run.execute("INSERT OR REPLACE INTO requests VALUES (?, ?)", values)


def write_pair(run: sqlite3.Connection, sweep: str, pair: int, event: bytes) -> None:
    """A pair that is done."""
    values = (number_of(run, sweep), pair, zlib.compress(event, 1))
    run.execute("INSERT OR REPLACE INTO pairs VALUES (?, ?, ?)", values)


def forget(run: sqlite3.Connection, sweep: str) -> None:
    """A finished sweep needs none of it."""
    number = number_of(run, sweep)
    run.execute("DELETE FROM pairs WHERE number = ?", (number,))
    run.execute("DELETE FROM requests WHERE number = ?", (number,))


def read(run: sqlite3.Connection, sweep: str) -> Progress | None:
    """How far it came; None where it is no sweep over pairs, or has finished."""
    number = number_of(run, sweep)
    row = run.execute("SELECT request FROM requests WHERE number = ?", (number,)).fetchone()
    if row is None:
        return None
    done = run.execute("SELECT event FROM pairs WHERE number = ? ORDER BY pair", (number,))
    return Progress(zlib.decompress(row[0]), [zlib.decompress(event) for (event,) in done])
