"""Lanes: in order, bounded, and each by itself."""

import asyncio
import threading
from functools import partial

import pytest

from sonde.errors import BadRequest, ServerBusy, ServerStopping
from sonde.server.lanes import Lane, Lanes

pytestmark = pytest.mark.anyio


async def test_calls_are_made_in_order_on_one_thread_that_is_not_the_loops() -> None:
    lane, seen = Lane("tokens"), list[tuple[int, str]]()

    def work(number: int) -> int:
        seen.append((number, threading.current_thread().name))
        return number

    made = await asyncio.gather(*(lane.call(partial(work, n)) for n in range(20)))
    lane.close()
    assert made == list(range(20))
    assert seen == [(n, "tokens") for n in range(20)]
    assert lane.idle


async def test_what_goes_wrong_belongs_to_the_caller() -> None:
    lane = Lane("tokens")

    def fail() -> None:
        raise BadRequest("no")

    with pytest.raises(BadRequest, match="no"):
        await lane.call(fail)
    assert await lane.call(lambda: 1) == 1
    lane.close()


async def test_more_than_may_wait_are_refused_and_who_left_has_no_turn() -> None:
    lane, go, made = Lane("tokens", waiting=3), threading.Event(), list[int]()
    held = asyncio.create_task(lane.call(lambda: go.wait(20)))
    waiting = [asyncio.create_task(lane.call(partial(made.append, n))) for n in range(2)]
    await asyncio.sleep(0)
    assert not lane.idle
    with pytest.raises(ServerBusy):
        await lane.call(lambda: made.append(9))
    waiting[0].cancel()
    await asyncio.gather(waiting[0], return_exceptions=True)
    go.set()
    await asyncio.gather(held, waiting[1])
    assert made == [1]
    lane.close()


async def test_08_callers_without_the_key_do_not_keep_out_those_who_have_it() -> None:
    lanes, go = Lanes(), threading.Event()
    held = asyncio.create_task(lanes.of(keyed=False).call(lambda: go.wait(20)))
    assert await lanes.of(keyed=True).call(lambda: "mine") == "mine"
    assert not lanes.idle
    go.set()
    await held
    lanes.close()


async def test_07_a_server_that_ends_does_not_wait_for_a_long_text() -> None:
    lane, go = Lane("tokens"), threading.Event()
    asked = [asyncio.create_task(lane.call(lambda: go.wait(20))) for _ in range(3)]
    await asyncio.sleep(0.05)
    lane.interrupt()
    for each in asked:
        with pytest.raises(ServerStopping):
            await each
    go.set()
    assert await lane.call(lambda: 1) == 1, "its thread has come to no harm"
    lane.close()
