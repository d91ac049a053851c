"""What people say of sweeps: a name, a note, a star; and sweeps that they delete.

Functions of a connection inside a transaction, so that the server that computes sweeps and one that
only shows them change the same things in the same way.
"""

import sqlite3

from sonde.errors import BadRequest, SweepUnderWay
from sonde.schema import Remarks, SweepEntry
from sonde.store.sweep_file import number_of, read_entry

MOST_STARS = 1_000
"""A sweep with a star is never forgotten, so stars are what bounds the file beside `keep`."""


def remark(run: sqlite3.Connection, sweep: str, said: Remarks) -> SweepEntry:
    """Name a sweep, note something, give or take its star. -> its line in the history"""
    number, before = number_of(run, sweep), read_entry(run, sweep)
    if said.starred and not before.starred:
        _check_stars(run)
    run.execute(
        "UPDATE sweeps SET name = ?, note = ?, starred = ? WHERE number = ?",
        (
            before.name if said.name is None else said.name.strip(),
            before.note if said.note is None else said.note.strip(),
            before.starred if said.starred is None else said.starred,
            number,
        ),
    )
    return read_entry(run, sweep)


def forget(run: sqlite3.Connection, sweep: str) -> SweepEntry:
    """Delete a sweep that has ended, starred or not, with all it found. -> what it was"""
    entry = read_entry(run, sweep)
    if entry.state in ("waiting", "running"):
        raise SweepUnderWay(sweep, entry.state)
    run.execute("DELETE FROM sweeps WHERE number = ?", (number_of(run, sweep),))
    return entry


def _check_stars(run: sqlite3.Connection) -> None:
    (stars,) = run.execute("SELECT count(*) FROM sweeps WHERE starred = 1").fetchone()
    if stars >= MOST_STARS:
        raise BadRequest(
            f"{stars:,} sweeps have a star, as many as may: they are never forgotten; "
            "take one from another first"
        )
