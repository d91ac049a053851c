"""How a program that is asked to end, by Ctrl-C or SIGTERM, ends: with a status, not by the signal.

Supervisors and shells tell the two apart. Once the first signal has decided the status, further
ones change nothing, however long the interpreter takes to put its things away.
"""

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType

CAUGHT = (signal.SIGINT, signal.SIGTERM)


def leave_on_signals() -> None:
    """From now on the first signal ends the program: nothing is under way that could be lost."""
    _set(_leave)


def ignore_signals() -> None:
    """From now on signals change nothing: the program is on its way out."""
    _set(signal.SIG_IGN)


def _leave(number: int, frame: FrameType | None) -> None:
    ignore_signals()
    sys.exit(130 if number == signal.SIGINT else 0)  # 130 is what shells expect of Ctrl-C


def _set(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    if threading.current_thread() is threading.main_thread():  # no other may
        for number in CAUGHT:
            signal.signal(number, handler)
