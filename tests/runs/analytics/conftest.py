"""One run of Sonde's and one of the reference's, read with volumes small enough to be several."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sonde.runs.analytics.analysis import RunAnalysis, RunContents
from sonde.runs.analytics.cache import Caches
from sonde.runs.analytics.database import connect
from tests.runs.analytics.made import Made, made_run, reference_run

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SIZES = {"volume_records": 300, "piece_records": 64}


@dataclass(frozen=True)
class Read:
    """A run that was read, and the truth about it."""

    made: Made
    known: RunContents
    cursor: DuckDBPyConnection


@pytest.fixture(scope="session")
def connection() -> Iterator[DuckDBPyConnection]:
    with connect() as connection:
        yield connection


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory, connection: DuckDBPyConnection) -> Iterator[Read]:
    made = made_run(tmp_path_factory.mktemp("runs") / "run")
    with reading(made, connection) as read:
        yield read


@pytest.fixture(scope="session")
def reference(
    tmp_path_factory: pytest.TempPathFactory, connection: DuckDBPyConnection
) -> Iterator[Read]:
    made = reference_run(tmp_path_factory.mktemp("runs") / "reference", records=5000, every=5)
    with reading(made, connection) as read:
        yield read


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@contextmanager
def reading(made: Made, connection: DuckDBPyConnection) -> Iterator[Read]:
    """Read all of a run, in several volumes and pieces."""
    analysis = RunAnalysis(connection, made.layout, Caches(made.layout.directory), **SIZES)
    yield Read(made, analysis.advance(), connection.cursor())
    analysis.close()
