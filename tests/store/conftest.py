"""A store to write to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sonde.store.sweeps import SweepStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SweepStore]:
    """A history of sweeps, empty."""
    opened = SweepStore(tmp_path)
    yield opened
    opened.close()
