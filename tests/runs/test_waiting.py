"""Everyone who waits is woken, nobody misses anything, and one who leaves takes nobody along.

Those who catch up take turns; a subscriber at the head does not wait for all of them.
"""

import asyncio

import pytest

from sonde.runs.waiting import News, Turns

pytestmark = pytest.mark.anyio


async def test_all_who_wait_are_woken() -> None:
    news = News()
    waiting = [asyncio.create_task(news.after(news.told)) for _ in range(3)]
    await asyncio.sleep(0)
    assert news.waiting == 3
    news.tell()
    assert news.waiting == 0
    await asyncio.wait_for(asyncio.gather(*waiting), 5)


async def test_what_was_told_since_one_began_to_look_is_not_waited_for() -> None:
    news = News()
    told = news.told
    news.tell()
    await asyncio.wait_for(news.after(told), 5)
    waiting = asyncio.create_task(news.after(news.told))
    await asyncio.sleep(0)
    assert not waiting.done()
    news.tell()
    await asyncio.wait_for(waiting, 5)


async def test_one_who_is_cancelled_takes_nobody_along() -> None:
    news = News()
    first, second = (asyncio.create_task(news.after(news.told)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    assert first.cancelled()
    assert not second.done()
    assert news.waiting == 1
    news.tell()
    await asyncio.wait_for(second, 5)


async def test_even_without_waiting_others_have_a_turn() -> None:
    news, turns = News(), 0

    async def busy() -> None:
        for _ in range(10):
            told = news.told
            news.tell()
            await news.after(told)

    task = asyncio.create_task(busy())
    while not task.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns >= 10


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
