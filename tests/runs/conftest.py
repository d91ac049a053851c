"""A run directory, somebody who writes to it, and a hub that reads it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from tests.runs.trainer import Trainer


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def trainer(tmp_path: Path) -> Trainer:
    return Trainer(tmp_path / "run")


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[Hub]:
    hub = Hub(RunLayout(tmp_path / "run"))
    yield hub
    await hub.close()
