"""Work that needs the tokenizer and not the model, on threads of its own.

One thread a lane: who waits in it waits for others in it, and nobody else waits for them. The
threads that asyncio lends are few, and all other routes need them: six long texts used to take them
all. Callers without the key have a lane to themselves, so that they cannot keep those out who have
it.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sonde.errors import ServerBusy, ServerStopping

T = TypeVar("T")

WAITING = 64


class Lane:
    """Calls that are made one after another; the thread begins with the first."""

    def __init__(self, name: str, waiting: int = WAITING) -> None:
        """`waiting` is how many may be there at once; then `call` refuses: `ServerBusy`."""
        self._name = name
        self._most = waiting
        self._calls: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]
        self._calls = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._there: set[Future[Any]] = set()

    async def call(self, work: Callable[[], T]) -> T:
        """Wait for a turn, and for the result. A caller that stops waiting before then has none."""
        if len(self._there) >= self._most:
            raise ServerBusy(len(self._there))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        future: Future[T] = Future()
        self._there.add(future)
        self._calls.put((future, work))
        try:
            return await asyncio.wrap_future(future)
        finally:
            self._there.discard(future)

    def interrupt(self) -> None:
        """Tell those who are there that the server ends; a text cannot be left half way."""
        for future in list(self._there):
            with suppress(InvalidStateError):
                future.set_exception(ServerStopping())

    @property
    def idle(self) -> bool:
        """Whether nobody is there."""
        return not self._there

    def close(self) -> None:
        """End the thread after what waits."""
        self._calls.put(None)

    def _run(self) -> None:
        while (item := self._calls.get()) is not None:
            future, work = item
            with suppress(InvalidStateError):  # the caller was told that the server ends
                _do(future, work)
            del item, future, work


def _do(future: Future[Any], work: Callable[[], Any]) -> None:
    if future.done() or not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001 - it belongs to the caller
        future.set_exception(error)
    else:
        future.set_result(result)


@dataclass(frozen=True)
class Lanes:
    """The lanes of a server."""

    keyed: Lane = field(default_factory=lambda: Lane("sonde-tokens"))
    keyless: Lane = field(default_factory=lambda: Lane("sonde-tokens-open"))

    def of(self, *, keyed: bool) -> Lane:
        """Whose."""
        return self.keyed if keyed else self.keyless

    @property
    def idle(self) -> bool:
        """Whether nobody is in any of them."""
        return self.keyed.idle and self.keyless.idle

    def interrupt(self) -> None:
        """Tell everybody in them that the server ends."""
        self.keyed.interrupt()
        self.keyless.interrupt()

    def close(self) -> None:
        """End their threads."""
        self.keyed.close()
        self.keyless.close()
