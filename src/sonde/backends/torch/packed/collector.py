"""Python's search for garbage, put off while thousands of cells are planned.

Planning makes some ten small objects a cell, none of them garbage before the sweep is over. The
collector looks through all of them again and again, which took a quarter of the time that a sweep
over many short prompts takes on a GPU.

The collector is the whole process's, and so is the count of those who put it off: the last to leave
puts back what the first one found.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class _Inside:
    count: int = 0
    was_on: bool = True
    lock: threading.Lock = field(default_factory=threading.Lock)


_inside = _Inside()


@contextmanager
def put_off() -> Iterator[None]:
    """Inside the block nothing is searched for garbage; what nobody refers to goes all the same."""
    with _inside.lock:
        if not _inside.count:
            _inside.was_on = gc.isenabled()
            gc.disable()
        _inside.count += 1
    try:
        yield
    finally:
        with _inside.lock:
            _inside.count -= 1
            if not _inside.count and _inside.was_on:
                gc.enable()
