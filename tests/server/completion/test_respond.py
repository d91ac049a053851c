"""Answers over a real connection: whole or streamed, with errors where clients look for them."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from sonde.errors import HookNeverFired
from tests.local import LOCAL
from tests.server.completion.endless import Endless, opened
from tests.server.tiny_server import Served, served

ROUTE = "/v1/completions"
SHORT = {"prompt": [1, 2], "max_tokens": 3}
MANY = 100_000
LONG = {"prompt": [1, 2], "max_tokens": MANY}

Serving = Callable[..., Served]


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    with ExitStack() as stack:
        yield lambda backend, **network: stack.enter_context(served(backend, tmp_path, **network))


def events(answer: httpx.Response) -> list[Any]:
    """What a stream says, `[DONE]` included."""
    lines = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    said = [line for line in lines if not line.startswith(":")]
    return [line if line == "[DONE]" else json.loads(line) for line in said]


def streamed(http: httpx.Client, **fields: Any) -> list[Any]:
    answer = http.post(ROUTE, json=SHORT | fields | {"stream": True})
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    return events(answer)


def text_of(found: list[Any]) -> str:
    return "".join(choice["text"] for each in found[:-1] for choice in each["choices"])


def test_a_stream_says_what_the_whole_says(serving: Serving) -> None:
    http = serving(opened()).http
    whole = http.post(ROUTE, json=SHORT).json()
    found = streamed(http)
    assert found[-1] == "[DONE]"
    assert text_of(found) == whole["choices"][0]["text"] == "TheTheThe"
    assert [each["choices"][0]["finish_reason"] for each in found[:-1]] == [None] * 3 + ["length"]
    assert len({each["id"] for each in found[:-1]}) == 1


def test_tokens_are_counted_at_the_end_of_a_stream_that_asks_for_it(serving: Serving) -> None:
    http = serving(opened()).http
    *chunks, last, done = streamed(http, stream_options={"include_usage": True})
    assert done == "[DONE]"
    assert all(chunk["usage"] is None for chunk in chunks)
    assert last["choices"] == []
    assert last["usage"] == {"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5}
    assert all("usage" not in each for each in streamed(http)[:-1])


@pytest.mark.parametrize("stream", [True, False])
def test_what_goes_wrong_at_once_has_a_status(serving: Serving, stream: bool) -> None:
    http = serving(opened(raises=HookNeverFired("position 9 was not reached"))).http
    answer = http.post(ROUTE, json=SHORT | {"stream": stream})
    assert answer.status_code == 502
    error = answer.json()["error"]
    assert (error["message"], error["code"]) == ("position 9 was not reached", 502)


def test_what_goes_wrong_in_a_stream_is_its_last_event(serving: Serving) -> None:
    found = streamed(serving(opened(raises=HookNeverFired("not reached"), after=2)).http)
    *chunks, last = found
    assert len(chunks) == 2
    assert all(chunk["choices"][0]["finish_reason"] is None for chunk in chunks)
    assert last["error"]["message"] == "not reached"
    assert last["error"]["code"] == 502


def test_without_a_stream_nothing_of_a_failed_answer_is_sent(serving: Serving) -> None:
    http = serving(opened(raises=HookNeverFired("not reached"), after=2)).http
    assert http.post(ROUTE, json=SHORT).status_code == 502


def test_a_stream_that_waits_long_sends_heartbeats(serving: Serving) -> None:
    backend = Endless()
    http = serving(backend, heartbeat_seconds=0.05).http
    with http.stream("POST", ROUTE, json=SHORT | {"stream": True}) as answer:
        lines = answer.iter_lines()
        assert next(lines).startswith(":")
        backend.gate.set()
        assert any(line.startswith("data: ") for line in lines)


async def left(here: Served, when: Callable[[], bool], **fields: Any) -> None:
    """Ask for something endless and leave, when it is time; return when the server knows."""
    over = {"route": ROUTE, "method": "POST"}
    async with asyncio.timeout(30):
        async with httpx.AsyncClient(base_url=here.url, timeout=60, **LOCAL) as http:
            asking = asyncio.create_task(http.post(ROUTE, json=LONG | fields))
            while not when():
                await asyncio.sleep(0.001)
            asking.cancel()
            await asyncio.wait([asking])
        registry = here.parts.metrics.registry
        while not registry.get_sample_value("sonde_request_seconds_count", over):
            await asyncio.sleep(0.001)


@pytest.mark.anyio
@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_stops_what_it_asked_for(serving: Serving, stream: bool) -> None:
    backend = opened()
    await left(serving(backend), lambda: backend.made > 3, stream=stream)
    assert backend.closed.wait(10)
    assert backend.made < MANY


@pytest.mark.anyio
@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_before_the_first_token_stops_it(
    serving: Serving, stream: bool
) -> None:
    backend = Endless()
    here = serving(backend)
    await left(here, lambda: here.parts.engine.counts()["call"][0] == 1, stream=stream)
    backend.gate.set()
    assert backend.closed.wait(10)
    assert backend.made <= 1
