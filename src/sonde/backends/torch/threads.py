"""How many threads torch takes, while somebody else shares out the cores.

The setting is the whole process's, and so is the count of those who are inside: the last to leave
puts back what the first one found. Otherwise two at once would leave the process with one thread.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import torch

Item = TypeVar("Item")
Made = TypeVar("Made")


@dataclass
class _Inside:
    count: int = 0
    before: int = 1
    lock: threading.Lock = field(default_factory=threading.Lock)


_inside = _Inside()


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Inside the block operations take one thread, in every thread of the process."""
    with _inside.lock:
        if not _inside.count:
            _inside.before = torch.get_num_threads()
            torch.set_num_threads(1)
        _inside.count += 1
    try:
        yield
    finally:
        with _inside.lock:
            _inside.count -= 1
            if not _inside.count:
                torch.set_num_threads(_inside.before)


def each_by_one_thread(
    make: Callable[[Item], Made], items: Sequence[Item], threads: int
) -> list[Made]:
    """What `make` makes of each item, so many at a time, without gradients; in order."""

    def alone(item: Item) -> Made:
        torch.get_num_threads()  # a new thread reads the setting only when it is asked for it
        with torch.inference_mode():
            return make(item)

    with one_thread_each(), ThreadPoolExecutor(threads) as pool:
        return list(pool.map(alone, items))
