"""Waiting for a coroutine from ordinary code, also where an event loop is already running.

Each call has an event loop of its own, on a thread of its own: a notebook's loop is busy with the
very cell that waits. Interrupting the wait cancels the work, which hangs up on the server.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

INTERRUPT_SECONDS = 0.2


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine. Callbacks it makes run on the other thread."""
    with _loop() as loop:
        return _result(work, loop)


def iterate(items: AsyncGenerator[T, None]) -> Iterator[T]:
    """The items of an asynchronous generator, one by one; leaving the iteration closes it."""
    under_way: list[asyncio.Task[Any] | None] = []

    async def following() -> list[T]:
        under_way[:] = [asyncio.current_task()]
        try:
            return [await anext(items)]
        except StopAsyncIteration:
            return []

    async def close() -> None:
        """Give up the item that was waited for, if any: until then the rest cannot be closed."""
        for task in under_way:
            if task is not None and not task.done():
                task.cancel()
                await asyncio.wait([task])
        await items.aclose()

    with _loop() as loop:
        try:
            while item := _result(following(), loop):
                yield item[0]
        finally:
            _result(close(), loop)


def _result(work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> T:
    """Wait a moment at a time: an interrupt in the instant before a wait does not end that wait."""
    future = asyncio.run_coroutine_threadsafe(work, loop)
    while not wait([future], INTERRUPT_SECONDS).done:
        pass
    return future.result()


@contextmanager
def _loop() -> Iterator[asyncio.AbstractEventLoop]:
    """A running event loop; at the end, what is left on it is cancelled and waited for."""
    started: threading.Event = threading.Event()
    stop = asyncio.Event()
    loop = asyncio.new_event_loop()

    async def until_stopped() -> None:
        started.set()
        await stop.wait()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(until_stopped())

    thread = threading.Thread(target=run, name="sonde-client", daemon=True)
    thread.start()
    started.wait()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
