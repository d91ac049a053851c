"""Settings of all server tests."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """What runs `async def` tests marked `anyio`."""
    return "asyncio"
