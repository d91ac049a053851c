"""Everyone who waits is woken, nobody misses anything, and one who leaves takes nobody along."""

import asyncio

import pytest

from sonde.runs.news import News

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
