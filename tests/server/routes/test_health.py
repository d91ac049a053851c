"""Alive, ready, and what the server can do."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from sonde.errors import EngineLost
from sonde.schema import Capabilities, ExportFormat, Metric, Pairing
from sonde.server.app import create_app
from sonde.server.jobs import JobThread
from sonde.server.parts import Parts
from tests.scripted import Scripted
from tests.server.talking import client_of, parts_over

pytestmark = pytest.mark.anyio


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    with parts_over(Scripted(), tmp_path) as parts:
        yield parts


class Busy:
    """Keeps the engine's thread busy inside a block."""

    def __init__(self, engine: JobThread) -> None:
        self._engine, self._begun, self._over = engine, threading.Event(), threading.Event()

    async def __aenter__(self) -> None:
        def hold() -> None:
            self._begun.set()
            self._over.wait(20)

        self._call = asyncio.create_task(self._engine.call(hold))
        await asyncio.to_thread(self._begun.wait)

    async def __aexit__(self, *_: object) -> None:
        self._over.set()
        await self._call


async def test_health_does_not_wait_for_the_model(parts: Parts) -> None:
    async with client_of(create_app(parts)) as http, Busy(parts.engine):
        answer = await http.get("/health")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def test_a_server_whose_model_answers_is_ready(parts: Parts) -> None:
    async with client_of(create_app(parts)) as http:
        answer = await http.get("/ready")
    assert (answer.status_code, answer.json()) == (200, {"ready": True, "reason": None})


async def test_10_a_server_whose_model_is_busy_is_ready_and_says_so_at_once(parts: Parts) -> None:
    """However long it takes, and however much waits."""
    async with client_of(create_app(parts)) as http, Busy(parts.engine):
        calls = [parts.engine.stream(lambda: iter([1])) for _ in range(256)]
        answer = await http.get("/ready")
        refused = await http.post("/v1/completions", json={"prompt": "The", "max_tokens": 1})
    assert (answer.status_code, answer.json()) == (200, {"ready": True, "reason": None})
    assert refused.status_code == 429, "and that is said to whom it concerns"
    assert len(calls) == 256


async def test_a_server_that_stops_is_not_ready(parts: Parts) -> None:
    async with client_of(create_app(parts)) as http:
        parts.engine.stop(0)
        answer = await http.get("/ready")
    assert answer.status_code == 503
    assert "shutting down" in answer.json()["reason"]


async def test_a_server_whose_engine_is_lost_is_neither_healthy_nor_ready(parts: Parts) -> None:
    def die() -> None:
        raise EngineLost("a worker ended")

    async with client_of(create_app(parts)) as http:
        with pytest.raises(EngineLost):
            await parts.engine.call(die)
        health, ready = await http.get("/health"), await http.get("/ready")
        refused = await http.post("/v1/completions", json={"prompt": "The", "max_tokens": 1})
    assert (health.status_code, ready.status_code, refused.status_code) == (503, 503, 503)
    assert "a worker ended" in health.json()["error"]["message"]
    assert "a worker ended" in ready.json()["reason"]
    assert "Start the server again" in refused.json()["error"]["message"]


async def test_capabilities_say_what_can_be_asked(parts: Parts) -> None:
    parts.backend.capture("kept", [1, 2], ["post_block"], [0], [0])
    async with client_of(create_app(parts)) as http:
        answer = await http.get("/v1/capabilities")
    found = Capabilities.model_validate(answer.json())
    assert found.model == parts.backend.describe()
    assert tuple(found.metrics) == get_args(Metric)
    assert tuple(found.pairings) == get_args(Pairing)
    assert tuple(found.export_formats) == get_args(ExportFormat)
    assert found.limits.cells == parts.limits.cells
    assert found.limits.body_bytes == parts.network.max_body_bytes
    assert (found.source_runs.runs, found.source_runs.used_bytes) == (1, 1)
    assert found.source_runs.budget_bytes == parts.backend.source_budget()
    assert found.queues.sweep.active == found.queues.call.waiting == 0
    assert set(found.versions) == {"sonde", "torch", "transformers"}
