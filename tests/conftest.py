"""Fixtures and settings of all tests. Nothing here imports torch before a test asks for it."""

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from sonde import Model

settings.register_profile("sonde", deadline=None)  # a busy machine is slow, not wrong
settings.load_profile("sonde")


@pytest.fixture(scope="session")
def smollm2() -> "Model":
    """The default model, for real. Tests that share it must leave nothing behind."""
    import sonde

    return sonde.load("smollm2")


@pytest.fixture(scope="session")
def smollm2_tokenizer(smollm2: "Model") -> Any:
    """Its tokenizer."""
    backend: Any = smollm2.backend
    return backend._loaded.tokenizer
