"""How many threads torch takes, while somebody else shares out the cores.

Meanwhile a thread that wants the interpreter gets it sooner than usual: otherwise it waits up to
5 ms for one that is between two operations, and its core with it.

The settings are the whole process's, and so is the count of those who are inside: the last to leave
puts back what the first one found. Otherwise two at once would leave the process with one thread.
"""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Final, TypeVar

import torch

SWITCH_SECONDS: Final = 2e-4

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass
class _Inside:
    count: int = 0
    threads: int = 1
    """Before the first one came."""
    switch_seconds: float = 0.0
    """The same."""
    lock: threading.Lock = field(default_factory=threading.Lock)


_inside = _Inside()


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Inside the block operations take one thread, in every thread of the process."""
    with _inside.lock:
        if not _inside.count:
            _inside.threads = torch.get_num_threads()
            _inside.switch_seconds = sys.getswitchinterval()
            torch.set_num_threads(1)
            sys.setswitchinterval(SWITCH_SECONDS)
        _inside.count += 1
    try:
        yield
    finally:
        with _inside.lock:
            _inside.count -= 1
            if not _inside.count:
                torch.set_num_threads(_inside.threads)
                sys.setswitchinterval(_inside.switch_seconds)


def each_by_one_thread(
    make: Callable[[Item], Result], items: Sequence[Item], threads: int
) -> list[Result]:
    """What `make` makes of each item, so many at a time, without gradients; in order.

    The caller is one of the threads: starting another takes as long as some items do.
    """
    made: dict[int, Result] = {}
    waiting: SimpleQueue[int | None] = SimpleQueue()
    for next_ in (*range(len(items)), *[None] * threads):  # None ends a thread
        waiting.put(next_)

    def work() -> None:
        torch.get_num_threads()  # a new thread reads the setting only when it is asked for it
        with torch.inference_mode():
            for place in iter(waiting.get, None):
                made[place] = make(items[place])

    with one_thread_each(), ThreadPoolExecutor(max(threads - 1, 1)) as pool:
        others = [pool.submit(work) for _ in range(threads - 1)]
        work()
        for other in others:
            other.result()
    return [made[place] for place in range(len(items))]
