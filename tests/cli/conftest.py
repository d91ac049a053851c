"""One tiny model directory for all commands."""

from pathlib import Path

import pytest

from tests.tiny_model import save_tiny_model


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("models") / "tiny")
