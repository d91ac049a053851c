"""A completion on its way from the engine's thread to the client that asked for it.

Nothing is dropped in between and nothing waits for the reader: a completion is short, and a slow
client must not hold up the engine's thread.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterator

from sonde.errors import WeightsChanged
from sonde.server.completion.admit import AdmittedRequest
from sonde.server.completion.work import ChoiceDelta, CompletionItem, complete
from sonde.server.jobs import Job
from sonde.server.parts import Parts
from sonde.server.pool import ServedModel

log = logging.getLogger(__name__)


class Running:
    """One completion that waits or runs. Leases are given back when it has ended, however."""

    job: Job

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        release: Callable[[], None],
        count: Callable[[int], None],
    ) -> None:
        self._loop = loop
        self._count = count
        self._release = release
        self._made: list[CompletionItem] = []
        self._news = asyncio.Event()
        self._over = False
        self._error: BaseException | None = None

    # On the engine's thread.

    def item(self, made: CompletionItem) -> None:
        """A token, or what was captured."""
        if isinstance(made, ChoiceDelta) and made.generated:
            self._count(made.generated)
        self._tell(lambda: self._made.append(made))

    def ended(self, error: BaseException | None) -> None:
        """There will be no more."""
        self._release()
        self._tell(lambda: self._end(error))

    def _tell(self, change: Callable[[], None]) -> None:
        def wake() -> None:
            change()
            self._news.set()

        try:
            self._loop.call_soon_threadsafe(wake)
        except RuntimeError:
            log.debug("the event loop closed before a completion was read")

    # On the event loop.

    def _end(self, error: BaseException | None) -> None:
        self._over, self._error = True, error

    def cancel(self) -> None:
        """Stop before the next token; without effect when it has ended."""
        self.job.cancel()

    async def began(self) -> None:
        """Return when there is something to read; raise what went wrong before."""
        await self._news.wait()
        if self._error is not None and not self._made:
            raise self._error

    async def batches(self) -> AsyncGenerator[list[CompletionItem]]:
        """What comes, as it comes; raises what went wrong."""
        while True:
            await self._news.wait()
            self._news.clear()
            made, self._made = self._made, []
            if made:
                yield made
            if self._over and not self._made:
                if self._error is not None:
                    raise self._error
                return

    async def whole(self) -> list[CompletionItem]:
        """All of it."""
        return [each async for batch in self.batches() for each in batch]


def start(parts: Parts, asked: AdmittedRequest, served: ServedModel) -> Running:
    """Lease what is needed and queue the work.

    The model that it was admitted for may have gone until it is its turn: it is loaded again then,
    but what was captured on it before is not there.
    """
    loop, count = asyncio.get_running_loop(), parts.metrics.generated
    running = Running(loop, lambda: asked.release(served.backend), count)

    def work(now: ServedModel) -> Iterator[CompletionItem]:
        loaded = now.backend.describe().weights
        if now is not served and loaded != asked.model.weights:
            raise WeightsChanged(asked.model.weights, loaded)
        try:
            yield from complete(now.backend, asked, now.speech)
        finally:
            asked.release(now.backend)

    try:
        asked.lease(served.backend)
        running.job = parts.engine.submit(lambda: parts.models.run(served.source, work), running)
    except BaseException:
        asked.release(served.backend)
        raise
    return running
