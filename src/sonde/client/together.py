"""Several requests under way at once."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


async def together(jobs: Sequence[Callable[[], Awaitable[T]]], at_once: int) -> list[T]:
    """The results, in order, with so many jobs under way; the first failure stops them all."""
    results: dict[int, T] = {}
    waiting = iter(enumerate(jobs))

    async def work() -> None:
        for n, job in waiting:
            results[n] = await job()

    workers = [asyncio.create_task(work()) for _ in range(max(1, min(at_once, len(jobs))))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    return [results[n] for n in range(len(jobs))]
