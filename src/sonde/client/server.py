"""What a Sonde server offers beside the patching client that people know.

server = Server("http://127.0.0.1:8091/v1")
entry = await server.start(request)           # it runs, though nobody waits
async for event in server.events(entry.id):   # also after the connection broke
    ...
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any

import httpx

from sonde.client.asking import body_of
from sonde.client.http import Address, Connection, read, segment
from sonde.client.stream import Message
from sonde.client.sweeping import follow, run_sweep
from sonde.results import Provenance, Sweep
from sonde.schema import (
    Capabilities,
    Estimate,
    PatchSweepRequest,
    SourceRunList,
    SweepCancelled,
    SweepEntry,
    SweepEvent,
    SweepHistory,
    SweepRecord,
    SweepSummary,
)

OnEvent = Callable[[SweepEvent], None]


class Server:
    """A server, by its address. There is nothing to close: a connection lasts for one call."""

    def __init__(self, base_url: str, api_key: str | None = None) -> None:
        """`base_url` ends in `/v1`."""
        self._address = Address(base_url, api_key)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self._address.base_url}>"

    async def capabilities(self) -> Capabilities:
        """The model, its hooks, the server's limits, and how busy it is."""
        return read(Capabilities, await self._ask("GET", "/capabilities"))

    async def run(self, request: PatchSweepRequest, *, on_event: OnEvent | None = None) -> Sweep:
        """Run a request to its end, as `sonde.Model.run` does with a model of its own.

        Cancelling it stops the sweep.
        """

        def hear(message: Message) -> None:
            event = message.event()
            if on_event is not None and event is not None:
                on_event(event)

        async with self.connection() as connection:
            able = read(Capabilities, await connection.ask("GET", "/capabilities"))
            finished = await run_sweep(
                connection, body_of(request), None if on_event is None else hear
            )
        return whole(finished.summary, request, able)

    async def estimate(self, request: PatchSweepRequest) -> Estimate:
        """What a request would cost."""
        answer = await self._ask(
            "POST", "/patch_sweep/estimate", body=body_of(request), seconds=None
        )
        return read(Estimate, answer)

    async def start(self, request: PatchSweepRequest) -> SweepEntry:
        """Leave a request with the server, which runs it though nobody waits."""
        headers = {"Prefer": "respond-async"}
        answer = await self._ask("POST", "/patch_sweep", body=body_of(request), headers=headers)
        return read(SweepEntry, answer)

    async def events(
        self, sweep: str, *, after: str | None = None
    ) -> AsyncGenerator[SweepEvent, None]:
        """The events of a sweep by its id, each once, also when the connection breaks meanwhile.

        `after` is the number of the last event that is not wanted again. The last event is the
        summary, or the error that the sweep ended with.
        """
        async with self.connection() as connection:
            heard = follow(connection, sweep, after=after, retries=self._address.retries)
            async with aclosing(heard):
                async for message in heard:
                    event = message.event()
                    if event is not None:
                        yield event

    async def cancel(self, sweep: str) -> SweepCancelled:
        """Stop a sweep."""
        return read(SweepCancelled, await self._ask("DELETE", f"/patch_sweep/{segment(sweep)}"))

    async def history(self, *, before: str | None = None, limit: int = 50) -> SweepHistory:
        """Sweeps, newest first; `before` is the `next` of the last page."""
        params = {"limit": str(limit)} | ({} if before is None else {"before": before})
        return read(SweepHistory, await self._ask("GET", "/patch_sweep", params=params))

    async def record(self, sweep: str) -> SweepRecord:
        """One sweep, whole."""
        return read(SweepRecord, await self._ask("GET", f"/patch_sweep/{segment(sweep)}"))

    async def runs(self) -> SourceRunList:
        """The source runs on the server."""
        return read(SourceRunList, await self._ask("GET", "/patch_source"))

    def connection(self, *, at_once: int = 16) -> Connection:
        """A connection of one's own, for requests that have no method here."""
        return Connection(self._address, at_once=at_once)

    async def _ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        async with self.connection() as connection:
            return await connection.ask(method, path, **options)


def whole(summary: Mapping[str, Any], request: PatchSweepRequest, able: Capabilities) -> Sweep:
    """A summary as the result that the Python API has everywhere."""
    found = SweepSummary.model_validate(dict(summary), extra="ignore")
    return Sweep(found, Provenance.of(able.model, request, versions=able.versions))
