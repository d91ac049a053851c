import threading

import pytest

from sonde.runs.background import Background


def test_work_is_done_in_order_and_drain_waits_for_it() -> None:
    done: list[int] = []
    with Background("test", 100) as background:
        for number in range(50):
            background.submit(lambda number=number: done.append(number))  # type: ignore[misc]
        background.drain()
        assert done == list(range(50))


def test_closing_does_what_is_waiting_first() -> None:
    done: list[int] = []
    with Background("test", 100) as background:
        for number in range(50):
            background.submit(lambda number=number: done.append(number))  # type: ignore[misc]
    assert len(done) == 50


def test_room_is_what_does_not_wait() -> None:
    go = threading.Event()
    with Background("test", 100) as background:
        background.submit(lambda: None if go.wait() else None, 70)
        assert background.room == 30
        background.submit(lambda: None, 70)
        assert background.room == 0
        go.set()
        background.drain()
        assert background.room == 100


def fail() -> None:
    raise OSError("lost")


def test_an_error_reaches_the_next_caller_and_only_once() -> None:
    background = Background("test", 100)
    background.submit(fail)
    with pytest.raises(OSError, match="lost"):
        background.drain()
    done: list[int] = []
    background.submit(lambda: done.append(1))
    background.close()
    assert done == [1]


def test_work_after_closing_is_an_error() -> None:
    background = Background("test", 100)
    background.close()
    with pytest.raises(RuntimeError, match="closed"):
        background.submit(lambda: None)
