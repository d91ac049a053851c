"""Memory that was freed and not given back: it is given back.

The C library keeps what is freed, a heap for each thread, in case it is wanted again. A text of
four megabytes takes half a gigabyte while it is split into tokens, and every thread that ever did
that kept it. Nothing had leaked, and a server had grown from 1.5 to 4 GB.

Pages that are given back have to be fetched again by the next work, so that is done while nobody
does, or when it is much.
"""

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

IDLE_BYTES = 64 * 2**20
"""Growth that is worth giving back when nothing is under way."""

BUSY_BYTES = 256 * 2**20
BUSY_SECONDS = 10.0
"""Growth that is worth it in the middle of work, and how often that may be looked for."""

_STATM = Path("/proc/self/statm")


def resident_bytes() -> int | None:
    """Memory of this process; None where the system does not say."""
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def trim() -> None:
    """Give back what is free; nothing where the C library cannot."""
    give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if give_back is not None:
        give_back(0)


@dataclass
class Trimming:
    """Decides when. Call `look` every now and then.

    What is resident in the middle of work is mostly in use, and free a moment later without the
    system noticing. So only what was resident while nothing was under way is what the server needs:
    an idle server is measured by that, whatever was given back before it came to rest.
    """

    resident: Callable[[], int | None] = resident_bytes
    trim: Callable[[], None] = trim
    _at_rest: int | None = None
    """What was resident after the last time with nothing under way."""
    _at_work: int = 0
    """What was resident after the last time."""
    _last: float = 0.0

    def look(self, now: float, *, idle: bool) -> bool:
        """Give memory back if it has grown. -> whether that was done"""
        used = self.resident()
        if used is None:
            return False
        if self._at_rest is None:
            self._at_rest, self._at_work, self._last = used, used, now
        self._at_rest = min(self._at_rest, used)
        self._at_work = min(self._at_work, used)
        if idle:
            due = used - self._at_rest >= IDLE_BYTES
        else:
            due = now - self._last >= BUSY_SECONDS and used - self._at_work >= BUSY_BYTES
        if not due:
            return False
        self.trim()
        left = min(used, self.resident() or used)
        self._at_work, self._last = left, now
        if idle:
            self._at_rest = left
        return True
