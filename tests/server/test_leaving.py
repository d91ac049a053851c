"""A client that leaves before its answer is made."""

import asyncio
from typing import Any

import pytest
from starlette.requests import Request

from sonde.errors import JobCancelled
from sonde.server.leaving import unless_gone

pytestmark = pytest.mark.anyio


def request_that(*messages: str) -> Request:
    """A request whose connection says these, and then nothing more."""
    said = iter(messages)

    async def receive() -> dict[str, Any]:
        for kind in said:
            return {"type": kind}
        await asyncio.Event().wait()
        raise AssertionError

    return Request({"type": "http", "headers": []}, receive)


async def test_the_answer_is_given_while_the_client_is_there() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 42

    assert await unless_gone(request_that("http.request"), work()) == 42


async def test_what_the_work_raises_is_raised() -> None:
    async def work() -> int:
        raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        await unless_gone(request_that(), work())


async def test_when_the_client_leaves_the_work_is_cancelled() -> None:
    cancelled = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    with pytest.raises(JobCancelled, match="the client left"):
        await unless_gone(request_that("http.request", "http.disconnect"), work())
    assert cancelled.is_set()
