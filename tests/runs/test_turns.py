"""Those who catch up take turns; a subscriber at the head does not wait for all of them."""

import asyncio

import pytest

from sonde.runs.turns import Turns

pytestmark = pytest.mark.anyio


async def test_between_two_rounds_of_everybody_else_one_has_a_turn() -> None:
    turns, done, rounds = Turns(), list[int](), list[int]()

    async def catch_up(who: int) -> None:
        for _ in range(5):
            await turns.next()
            done.append(who)

    tasks = [asyncio.create_task(catch_up(who)) for who in range(20)]
    while not all(task.done() for task in tasks):
        before = len(done)
        await asyncio.sleep(0)
        rounds.append(len(done) - before)
    assert max(rounds) == 1
    assert done == [who for _ in range(5) for who in range(20)]  # in the order they came


async def test_one_alone_waits_for_others_but_not_for_turns() -> None:
    turns, rounds = Turns(), 0
    task = asyncio.create_task(turns.next())
    while not task.done():
        await asyncio.sleep(0)
        rounds += 1
    assert 1 < rounds < 5


async def test_one_who_leaves_the_line_holds_nobody_up() -> None:
    turns = Turns()
    first, second, third = (asyncio.create_task(turns.next()) for _ in range(3))
    await asyncio.sleep(0)
    first.cancel()
    second.cancel()
    await asyncio.wait_for(third, 5)
    await asyncio.wait_for(turns.next(), 5)  # and the line is called again after it was empty
