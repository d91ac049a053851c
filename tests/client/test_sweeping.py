"""Sweeps on a server: to their end, to their failure, and through broken connections."""

import asyncio
from typing import Any

import httpx
import pytest

from sonde.client import sweeping
from sonde.client.http import Address, Connection, Refused
from sonde.client.stream import Message, SweepFailed
from sonde.client.sweeping import Finished, follow, run_sweep
from tests.client.canned import Canned, Reply, said, sse

START = {"type": "start", "layers": [0]}
CELL = {"type": "cell", "hook": "post_block", "layer": 0, "position": 0, "value": 1.0}
SUMMARY = {"type": "summary", "grid": [[1.0]]}
DONE = "data: [DONE]\n\n"


def run(canned: Canned, heard: list[Message] | None) -> Finished:
    async def work() -> Finished:
        async with Connection(Address(f"{canned.url}/v1")) as connection:
            hear = None if heard is None else heard.append
            return await run_sweep(connection, {"prompt": "a"}, hear)

    return asyncio.run(work())


def test_without_a_listener_it_is_one_json_answer(canned: Canned) -> None:
    canned.answers["/v1/patch_sweep"] = lambda _: said({"grid": [[1.0]]}, X_Sweep_Id="s1")
    assert run(canned, None) == Finished({"grid": [[1.0]]}, "s1")
    assert canned.bodies("/v1/patch_sweep") == [{"prompt": "a", "stream": False}]


def test_a_listener_hears_every_event_and_heartbeats_are_none(canned: Canned) -> None:
    reply = sse(": heartbeat\n\n", START, CELL, {"type": "new"}, CELL, SUMMARY, DONE)
    canned.answers["/v1/patch_sweep"] = lambda _: reply
    heard: list[Message] = []
    assert run(canned, heard) == Finished({"grid": [[1.0]]}, None)
    assert [message.type for message in heard] == ["start", "cell", "new", "cell", "summary"]
    assert canned.bodies("/v1/patch_sweep") == [{"prompt": "a", "stream": True}]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (
            sse(START, CELL, {"type": "error", "error": "source dropped: run 'r'"}),
            "^source dropped",
        ),
        (sse(START, CELL), "ended without a summary"),
        (sse(), "ended without a summary"),
        (sse(START, CELL, DONE), "ended without a summary"),
        (sse(START, CELL, cut=True), "the connection broke before the summary came"),
    ],
)
def test_a_stream_without_a_summary_is_an_error_that_says_why(
    canned: Canned, reply: Reply, expected: str
) -> None:
    canned.answers["/v1/patch_sweep"] = lambda _: reply
    with pytest.raises(RuntimeError, match=expected):
        run(canned, [])


def test_what_is_refused_before_the_stream_is_a_refusal(canned: Canned) -> None:
    canned.answers["/v1/patch_sweep"] = lambda _: said({"error": "empty sweep grid"}, 400)
    with pytest.raises(Refused, match="empty sweep grid"):
        run(canned, [])


EVENTS = "/v1/patch_sweep/s1/events"


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "SHORTEST_PAUSE", 0.0)


def followed(canned: Canned, *, after: str | None = None, retries: int = 2) -> list[Any]:
    async def work() -> list[Any]:
        async with Connection(Address(f"{canned.url}/v1", retries=0)) as connection:
            events = follow(connection, "s1", after=after, retries=retries)
            return [message.id async for message in events]

    return asyncio.run(work())


def asked_after(canned: Canned) -> list[str | None]:
    return [each.headers.get("last-event-id") for each in canned.asked if each.path == EVENTS]


def test_following_goes_on_after_the_last_event_heard(canned: Canned) -> None:
    canned.answers[EVENTS] = [
        sse(START, CELL, first=1, cut=True),
        sse(cut=True),
        said({"error": "bad gateway"}, 502),
        sse(CELL, first=3),
        sse(CELL, SUMMARY, DONE, first=4),
    ]
    assert followed(canned, retries=3) == ["1", "2", "3", "4", "5"]
    assert asked_after(canned) == [None, "2", "2", "2", "3"]


def test_following_begins_where_one_says(canned: Canned) -> None:
    canned.answers[EVENTS] = [sse(SUMMARY, first=8)]
    assert followed(canned, after="7") == ["8"]
    assert asked_after(canned) == ["7"]


@pytest.mark.parametrize(
    ("reply", "error"),
    [(sse(cut=True), httpx.TransportError), (sse(), SweepFailed), (said({}, 503), Refused)],
)
def test_following_gives_up_after_so_many_breaks_without_an_event(
    canned: Canned, reply: Reply, error: type[Exception]
) -> None:
    canned.answers[EVENTS] = lambda _: reply
    with pytest.raises(error):
        followed(canned)
    assert len(canned.asked) == 3


def test_a_sweep_that_nobody_knows_is_refused_at_once(canned: Canned) -> None:
    canned.answers[EVENTS] = lambda _: said({"error": "no sweep 's1' in the history"}, 404)
    with pytest.raises(Refused, match="no sweep 's1'"):
        followed(canned)
    assert len(canned.asked) == 1


def test_the_last_event_is_the_summary_or_the_error(canned: Canned) -> None:
    canned.answers[EVENTS] = [sse(START, {"type": "error", "error": "cancelled"}, CELL, first=1)]
    assert followed(canned) == ["1", "2"]
