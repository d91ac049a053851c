"""Waiting for coroutines from ordinary code."""

import asyncio
import signal
import threading
from collections.abc import AsyncGenerator, Iterator

import pytest

from sonde.client.blocking import iterate, wait_for


@pytest.fixture(autouse=True)
def no_thread_is_left_behind() -> Iterator[None]:
    yield
    assert [each.name for each in threading.enumerate() if each.name == "sonde-client"] == []


async def double(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


async def fail() -> None:
    raise ValueError("as expected")


def test_it_waits_with_and_without_a_running_event_loop() -> None:
    assert wait_for(double(2)) == 4

    async def in_a_notebook() -> int:
        return wait_for(double(3))

    assert asyncio.run(in_a_notebook()) == 6


def test_what_the_coroutine_raises_is_raised() -> None:
    with pytest.raises(ValueError, match="as expected"):
        wait_for(fail())


class Sleeper:
    """Work that does not end by itself for a while, and notes how it ends."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self._begun = threading.Event()

    async def sleep(self) -> None:
        try:
            self._begun.set()
            await asyncio.sleep(5)
            self.log.append("slept")
        finally:
            await asyncio.sleep(0)
            self.log.append("cleaned up")

    async def items(self) -> AsyncGenerator[int, None]:
        yield 1
        await self.sleep()

    def interrupt_soon(self) -> threading.Thread:
        """Ctrl-C, as soon as it sleeps."""

        def interrupt() -> None:
            self._begun.wait()
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        return thread


def test_an_interrupt_cancels_the_work_and_waits_for_it_to_clean_up() -> None:
    sleeper = Sleeper()
    thread = sleeper.interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        wait_for(sleeper.sleep())
    thread.join()
    assert sleeper.log == ["cleaned up"]


def test_an_interrupt_between_two_items_closes_the_generator() -> None:
    sleeper = Sleeper()
    items = iterate(sleeper.items())
    assert next(items) == 1
    thread = sleeper.interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        next(items)
    thread.join()
    assert sleeper.log == ["cleaned up"]


class Numbers:
    """An asynchronous generator that notes when it is closed."""

    def __init__(self) -> None:
        self.closed = False

    async def __call__(self, n: int, *, fail: bool = False) -> AsyncGenerator[int, None]:
        try:
            for number in range(n):
                await asyncio.sleep(0)
                yield number
            if fail:
                raise ValueError("as expected")
        finally:
            self.closed = True


def test_items_come_one_by_one_and_the_generator_is_closed() -> None:
    numbers = Numbers()
    assert list(iterate(numbers(3))) == [0, 1, 2]
    assert numbers.closed


def test_leaving_the_iteration_closes_the_generator() -> None:
    numbers = Numbers()
    items = iterate(numbers(1000))
    assert [next(items), next(items)] == [0, 1]
    assert not numbers.closed
    items.close()  # type: ignore[attr-defined]  # it is a generator
    assert numbers.closed


def test_what_the_generator_raises_comes_after_its_items() -> None:
    items = iterate(Numbers()(1, fail=True))
    assert next(items) == 0
    with pytest.raises(ValueError, match="as expected"):
        next(items)
