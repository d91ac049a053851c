"""A sweep on the server: sent, heard to its end, or followed by its id.

Sending one and reading its answer is one connection: closing it, by cancelling the task or leaving
the iteration, stops the sweep. Following one by its id is not: the connection may break and is made
again, from the event after the last one heard.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from sonde.client.http import Connection, Refused, decoded, read, segment
from sonde.client.stream import Message, SweepFailed, messages
from sonde.schema import SweepRecord

SILENCE_SECONDS = 60.0
"""A server that sends heartbeats every few seconds and is silent for so long is gone."""
AWAY = (502, 503, 504)
"""What a proxy says while the server behind it restarts."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.1, 5.0


@dataclass(frozen=True)
class Finished:
    """A summary, and the id of the sweep where the server gives one."""

    summary: dict[str, Any]
    id: str | None


async def run_sweep(
    connection: Connection,
    body: Mapping[str, Any],
    hear: Callable[[Message], None] | None,
    *,
    path: str = "/patch_sweep",
) -> Finished:
    """Have a sweep run. With `hear` it is streamed, and every event is passed on as it comes."""
    if hear is None:
        response = await connection.ask("POST", path, body={**body, "stream": False}, seconds=None)
        return Finished(decoded(response), response.headers.get("X-Sweep-Id"))
    body = {**body, "stream": True}
    async with connection.stream("POST", path, body=body) as response:
        summary = await _summary(response, hear)
    return Finished(summary, response.headers.get("X-Sweep-Id"))


async def _summary(response: httpx.Response, hear: Callable[[Message], None]) -> dict[str, Any]:
    """The summary at the end of a stream, or the reason why there is none."""
    reason = "the stream ended without a summary"
    try:
        async for message in messages(response.aiter_bytes()):
            hear(message)
            if message.type == "summary":
                return {name: each for name, each in message.body.items() if name != "type"}
            if message.type == "error":
                reason = str(message.body.get("error"))
    except httpx.TransportError as error:
        raise SweepFailed(f"the connection broke before the summary came: {error}") from error
    raise SweepFailed(reason)


async def follow(
    connection: Connection, sweep: str, *, after: str | None, retries: int
) -> AsyncGenerator[Message, None]:
    """The events of a sweep, each once, whatever becomes of the connection meanwhile.

    `retries` is how often in a row the connection may break without an event in between.
    """
    last, broken = after, 0
    while True:
        try:
            async with connection.stream(
                "GET",
                f"/patch_sweep/{segment(sweep)}/events",
                last_event_id=last,
                seconds=SILENCE_SECONDS,
            ) as response:
                if response.status_code == httpx.codes.NO_CONTENT:
                    await _check_finished(connection, sweep)
                    return
                async for message in messages(response.aiter_bytes()):
                    last, broken = message.id or last, 0
                    yield message
                    if message.type in ("summary", "error"):
                        return
            trouble: Exception = SweepFailed(f"the events of sweep {sweep!r} end without a summary")
        except httpx.TransportError as error:
            trouble = error
        except Refused as error:
            if error.status not in AWAY:
                raise
            trouble = error
        broken += 1
        if broken > retries:
            raise trouble
        await asyncio.sleep(min(SHORTEST_PAUSE * 2**broken, LONGEST_PAUSE))


async def _check_finished(connection: Connection, sweep: str) -> None:
    """Nothing more will come: right for a sweep that was heard to its end, and for no other."""
    record = read(SweepRecord, await connection.ask("GET", f"/patch_sweep/{segment(sweep)}"))
    if record.state != "finished":
        raise SweepFailed(record.error or f"sweep {sweep!r} is {record.state}")
