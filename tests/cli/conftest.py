"""One tiny model directory for all commands, and signals as they were."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tiny_model import save_tiny_model


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """A command that ends leaves them ignored: as a rule the process ends with it."""
    caught = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in caught}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
