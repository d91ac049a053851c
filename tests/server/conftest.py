"""Settings of all server tests."""

from pathlib import Path

import pytest

from tests.runs.trainer import Trainer


@pytest.fixture
def anyio_backend() -> str:
    """What runs `async def` tests marked `anyio`."""
    return "asyncio"


@pytest.fixture
def trainer(tmp_path: Path) -> Trainer:
    """Writes a run, in a directory that a gateway can show."""
    return Trainer(tmp_path / "run")
