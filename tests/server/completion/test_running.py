"""A completion is heard whole, can be stopped, and gives back its leases however it ends."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sonde.engine import Limits
from sonde.errors import HookNeverFired, JobCancelled, ServerBusy, SourceRunDropped
from sonde.schema import CompletionRequest
from sonde.server.app import stop
from sonde.server.completion.admit import AdmittedRequest, admit_completion
from sonde.server.completion.running import Running, start
from sonde.server.completion.work import ChoiceDelta
from sonde.server.parts import Parts
from sonde.server.serving import assemble
from tests.server.completion.endless import Endless, opened

pytestmark = pytest.mark.anyio

PATCH = {"layer": 1, "hook": "mlp_out", "dest_position": 0, "source_run": "r", "source_position": 0}


@pytest.fixture
def assembled(tmp_path: Path) -> Iterator[Any]:
    """Makes the parts of a server over a backend that holds a run."""
    made: list[Parts] = []

    def assembling(backend: Endless, **options: Any) -> Parts:
        backend.capture("r", [1, 2], ["mlp_out"], [1], [0])
        made.append(assemble(backend, tmp_path, **options))
        return made[-1]

    yield assembling
    for parts in made:
        stop(parts, 0)


def ask(parts: Parts, **fields: Any) -> AdmittedRequest:
    given = {"prompt": [1, 2], "max_tokens": 3, "patch": [PATCH]} | fields
    return admit_completion(CompletionRequest.model_validate(given), parts.backend, {}, Limits())


def started(parts: Parts, **fields: Any) -> Running:
    return start(parts, ask(parts, **fields), parts.models.default)


async def until_released(backend: Endless) -> None:
    async with asyncio.timeout(10):
        while backend.leases:
            await asyncio.sleep(0.001)


async def test_all_of_it_is_heard_in_order(assembled: Any) -> None:
    backend = opened()
    running = started(assembled(backend), max_tokens=40)
    made = await running.whole()
    text = "".join(piece.text for piece in made if isinstance(piece, ChoiceDelta))
    assert text == "The" * 40
    assert not backend.leases


async def test_it_is_leased_while_it_waits_and_runs(assembled: Any) -> None:
    backend = Endless()
    running = started(assembled(backend))
    assert {run for run, _ in backend.leases} == {"r"}
    backend.gate.set()
    await running.whole()
    assert not backend.leases


async def test_beginning_takes_nothing_away(assembled: Any) -> None:
    running = started(assembled(opened()))
    await running.began()
    assert len(await running.whole()) == 4


async def test_what_goes_wrong_at_once_is_raised_by_the_beginning(assembled: Any) -> None:
    backend = opened(raises=HookNeverFired("not reached"))
    running = started(assembled(backend))
    with pytest.raises(HookNeverFired):
        await running.began()
    assert not backend.leases


async def test_what_goes_wrong_later_comes_after_what_was_made(assembled: Any) -> None:
    running = started(assembled(opened(raises=HookNeverFired("not reached"), after=2)))
    await running.began()
    heard = 0

    async def listen() -> None:
        nonlocal heard
        async for batch in running.batches():
            heard += len(batch)

    with pytest.raises(HookNeverFired):
        await listen()
    assert heard == 2


async def test_one_that_is_cancelled_stops_and_gives_back_its_leases(assembled: Any) -> None:
    backend = opened()
    running = started(assembled(backend), max_tokens=100_000)
    await running.began()
    running.cancel()
    with pytest.raises(JobCancelled):
        await running.whole()
    assert backend.closed.is_set()
    assert backend.made < 100_000
    assert not backend.leases


async def test_one_that_never_began_gives_back_its_leases(assembled: Any) -> None:
    backend = Endless()
    parts = assembled(backend)
    first, second = started(parts), started(parts)
    second.cancel()
    backend.gate.set()
    await first.whole()
    with pytest.raises(JobCancelled):
        await second.whole()
    await until_released(backend)


async def test_one_that_is_refused_leaves_no_lease(assembled: Any) -> None:
    backend = opened()
    parts = assembled(backend, waiting=0)
    with pytest.raises(ServerBusy):
        started(parts)
    assert not backend.leases


async def test_a_run_dropped_before_it_could_be_leased_is_an_error(assembled: Any) -> None:
    backend = opened()
    parts = assembled(backend)
    asked = ask(parts)
    backend.drop("r")
    with pytest.raises(SourceRunDropped):
        start(parts, asked, parts.models.default)


async def test_generated_tokens_are_counted(assembled: Any) -> None:
    parts = assembled(opened())
    await started(parts, max_tokens=5).whole()
    counted = parts.metrics.registry.get_sample_value("sonde_generated_tokens_total")
    assert counted == 5
