"""All of a server's sweeps over the scripted backend, for tests that need no HTTP."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sonde.server.jobs import JobThread
from sonde.server.pool import Pool
from sonde.server.sweeps import Sweeps
from sonde.store.sweeps import SweepStore
from tests.scripted import Scripted


@contextmanager
def sweeps_over(backend: Scripted, directory: Path) -> Iterator[Sweeps]:
    """Sweeps with an engine and a history of their own."""
    engine = JobThread()
    sweeps = Sweeps(
        Pool(backend, engine), engine, SweepStore(directory), versions={"sonde": "test"}
    )
    try:
        yield sweeps
    finally:
        engine.stop(0)
        sweeps.close()
