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
from sonde.client.http import Address, Connection, Refused, read, segment
from sonde.client.stream import Message
from sonde.client.sweeping import follow, run_sweep
from sonde.results import Attention, Provenance, Sweep, result_of
from sonde.schema import (
    Capabilities,
    Estimate,
    ModelList,
    PatchSweepRequest,
    Remarks,
    SourceRunList,
    SweepCancelled,
    SweepEntry,
    SweepEvent,
    SweepHistory,
    SweepRecord,
    SweepSummary,
    Tokens,
)
from sonde.schema.attention import AttentionRequest, AttentionTable
from sonde.schema.table import SweepRequest, SweepTable, TableEvent

Request = PatchSweepRequest | SweepRequest
OnEvent = Callable[[SweepEvent | TableEvent], None]


class Server:
    """A server, by its address. There is nothing to close: a connection lasts for one call."""

    def __init__(self, base_url: str, api_key: str | None = None) -> None:
        """`base_url` ends in `/v1`."""
        self._address = Address(base_url, api_key)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self._address.base_url}>"

    async def capabilities(self, model: str | None = None) -> Capabilities:
        """The model, its hooks, the server's limits, and how busy it is.

        A `model` of the server's is loaded for that, if it was not; without it, the first is meant.
        """
        params = {} if model is None else {"model": model}
        answer = await self._ask("GET", "/capabilities", params=params, seconds=None)
        return read(Capabilities, answer)

    async def models(self) -> ModelList:
        """What is loaded there, the first model before others, and what can be."""
        return read(ModelList, await self._ask("GET", "/models"))

    async def run(self, request: Request, *, on_event: OnEvent | None = None) -> Sweep:
        """Run a request to its end, as `sonde.Model.run` does with a model of its own.

        A general request goes to `/sweeps`, a classic one to `/patch_sweep`. Cancelling it stops
        the sweep.
        """
        classic = isinstance(request, PatchSweepRequest)

        def hear(message: Message) -> None:
            event = message.event() if classic else message.table_event()
            if on_event is not None and event is not None:
                on_event(event)

        async with self.connection() as connection:
            finished = await run_sweep(
                connection,
                body_of(request),
                None if on_event is None else hear,
                path=_route(request),
            )
            able = await about(connection, request.model)
        return whole(finished.summary, request, able)

    async def estimate(self, request: Request) -> Estimate:
        """What a request would cost."""
        path = f"{_route(request)}/estimate"
        return read(Estimate, await self._ask("POST", path, body=body_of(request), seconds=None))

    async def attend(self, request: AttentionRequest) -> Attention:
        """What heads attend to in a prompt, as `sonde.Model.attend` does."""
        async with self.connection() as connection:
            answer = await connection.ask("POST", "/attention", body=body_of(request), seconds=None)
            able = await about(connection, request.model)
        source = Provenance.of(able.model, request, versions=able.versions)
        return Attention.of(read(AttentionTable, answer), source)

    async def tokens(self, text: str, model: str | None = None) -> list[int]:
        """A text in the model's tokens, without those that a prompt begins with."""
        body = {"prompt": text, "add_special_tokens": False}
        body |= {} if model is None else {"model": model}
        async with self.connection() as connection:
            return read(Tokens, await connection.ask_root("/tokenize", body)).tokens

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

    async def history(
        self,
        *,
        before: str | None = None,
        limit: int = 50,
        starred: bool = False,
        search: str = "",
    ) -> SweepHistory:
        """Sweeps of both kinds, newest first; `before` is the `next` of the last page.

        `starred` leaves those with a star, `search` those with all of its words.
        """
        params = {"limit": str(limit)} | ({} if before is None else {"before": before})
        params |= {"starred": "true"} if starred else {}
        params |= {"search": search} if search else {}
        return read(SweepHistory, await self._ask("GET", "/sweeps", params=params))

    async def record(self, sweep: str) -> SweepRecord:
        """One sweep of either kind, whole."""
        return read(SweepRecord, await self._ask("GET", f"/sweeps/{segment(sweep)}"))

    async def remark(
        self,
        sweep: str,
        *,
        name: str | None = None,
        note: str | None = None,
        starred: bool | None = None,
    ) -> SweepEntry:
        """Give a sweep a name, a note, a star; what is not given stays as it is."""
        said = Remarks(name=name, note=note, starred=starred).model_dump(exclude_none=True)
        return read(SweepEntry, await self._ask("PATCH", f"/history/{segment(sweep)}", body=said))

    async def forget(self, sweep: str) -> SweepEntry:
        """Delete a sweep that has ended from the history. -> what it was"""
        return read(SweepEntry, await self._ask("DELETE", f"/history/{segment(sweep)}"))

    async def runs(self) -> SourceRunList:
        """The source runs on the server."""
        return read(SourceRunList, await self._ask("GET", "/patch_source"))

    def connection(self, *, at_once: int = 16) -> Connection:
        """A connection of one's own, for requests that have no method here."""
        return Connection(self._address, at_once=at_once)

    async def _ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        async with self.connection() as connection:
            return await connection.ask(method, path, **options)


async def about(connection: Connection, model: str | None) -> Capabilities:
    """What a server says of the model that answers requests for `model`.

    Of its first one, where it has none of that name: classic sweeps may name any.
    """
    first = read(Capabilities, await connection.ask("GET", "/capabilities"))
    if model in (None, "", first.model.name):
        return first
    try:
        named = await connection.ask("GET", "/capabilities", params={"model": model}, seconds=None)
    except Refused as error:
        if error.status in (400, 404):
            return first
        raise
    return read(Capabilities, named)


def whole(summary: Mapping[str, Any], request: Request, able: Capabilities) -> Sweep:
    """A summary as the result that the Python API has everywhere."""
    source = Provenance.of(able.model, request, versions=able.versions)
    if isinstance(request, SweepRequest):
        return result_of(SweepTable.model_validate(dict(summary), extra="ignore"), source)
    return Sweep.of(SweepSummary.model_validate(dict(summary), extra="ignore"), source)


def _route(request: Request) -> str:
    return "/patch_sweep" if isinstance(request, PatchSweepRequest) else "/sweeps"
