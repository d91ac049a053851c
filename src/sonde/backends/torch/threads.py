"""How many threads torch takes, while somebody else shares out the cores.

The setting is the whole process's, and so is the count of those who are inside: the last to leave
puts back what the first one found. Otherwise two at once would leave the process with one thread.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch


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
