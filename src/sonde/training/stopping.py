"""A polite end: SIGTERM, as supervisors send it, ends a run the way Ctrl-C does.

The signal becomes an exception in the main thread, so everything that waits is written and the run
directory says `stopped`. It saves no checkpoint: a supervisor's patience is short, and a resume
goes on from the last one. A second SIGTERM changes nothing; a second Ctrl-C cuts the writing short.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Terminated(KeyboardInterrupt):
    """SIGTERM came. An interrupt, so that whatever cleans up after Ctrl-C does so here too."""


@contextmanager
def stoppable() -> Iterator[None]:
    """Inside the block the first SIGINT or SIGTERM raises; call it in the main thread."""
    came = False

    def handle(number: int, _frame: FrameType | None) -> None:
        nonlocal came
        again, came = came, True
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        if not again:
            raise Terminated

    before: dict[int, Any] = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def exit_status(error: KeyboardInterrupt) -> int:
    """What a shell expects of a process that such a signal has ended."""
    return 128 + (signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT)
