"""A tiny model on both backends; where vLLM is not installed, what needs it is left out."""

from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out what carries the marker; None lets pytest decide about the rest."""
    if find_spec("vllm") is not None or not collection_path.name.startswith("test_"):
        return None
    return True if "pytest.mark.vllm" in collection_path.read_text() else None


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.backends.vllm.tiny import save

    return save("llama", tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def engine(saved: Path) -> Iterator[Any]:
    from tests.backends.vllm.tiny import on_vllm

    with closing(on_vllm(saved)) as backend:
        yield backend


@pytest.fixture(scope="module")
def reference(saved: Path) -> Any:
    from tests.backends.vllm.tiny import on_torch

    return on_torch(saved)
