"""Sweeps as a store is told of them."""

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sonde.schema import Provenance, SweepEntry
from sonde.store.sweep_file import FILE_NAME
from sonde.store.sweeps import SweepStore
from tests.results.summaries import provenance, summary

BEGAN = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
ENDED = BEGAN + timedelta(seconds=3)
EVENTS = [b'{"type":"start"}', '{"type":"cell","token":"日本"}'.encode(), b'{"type":"summary"}']


def entry(sweep: str, **changes: Any) -> SweepEntry:
    fields: dict[str, Any] = {
        "id": sweep,
        "state": "waiting",
        "created": BEGAN,
        "ended": None,
        "cells": None,
        "done": 0,
        "error": None,
        "provenance": Provenance(**dict(provenance())),
    }
    return SweepEntry(**(fields | changes))


def finish(store: SweepStore, sweep: str, **changes: Any) -> None:
    fields: dict[str, Any] = {
        "state": "finished",
        "ended": ENDED,
        "cells": 6,
        "done": 6,
        "error": None,
        "summary": summary(),
        "events": EVENTS,
    }
    store.end(sweep, **(fields | changes))


def ids(store: SweepStore, **options: Any) -> list[str]:
    return [each.id for each in store.page(**options).sweeps]


def version_3(directory: Path) -> None:
    """The history as it was before sweeps had names."""
    store = SweepStore(directory)
    store.begin(entry("old"))
    finish(store, "old")
    store.close()
    with sqlite3.connect(directory / FILE_NAME) as file:
        file.execute("DROP INDEX by_star")
        for column in ("name", "note", "starred"):
            file.execute(f"ALTER TABLE sweeps DROP COLUMN {column}")
        file.execute("PRAGMA user_version = 3")
    file.close()
