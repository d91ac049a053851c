"""Work that a training step hands over and does not wait for: one thread, in order, bounded.

What waits is bounded by weight (bytes held by the work), so that a slow disk or a slow dictionary
cannot eat the trainer's memory. It never drops anything itself: `room` says how much more it would
take, and the caller that hands over decides what to leave out and counts it.

An error in the work is not swallowed: the next call on the trainer's side raises it.
"""

import threading
from collections import deque
from collections.abc import Callable
from typing import Self

Work = Callable[[], None]


class Background:
    """A thread that does one piece of work after the other."""

    def __init__(self, name: str, capacity: int) -> None:
        self.capacity = capacity
        self._waiting: deque[tuple[Work, int]] = deque()
        self._weight = 0
        self._busy = False
        self._failure: BaseException | None = None
        self._stopping = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def room(self) -> int:
        """How much weight could be handed over now."""
        with self._changed:
            return max(0, self.capacity - self._weight)

    def submit(self, work: Work, weight: int = 0) -> None:
        """Hand work over; it is done after all that was handed over before."""
        with self._changed:
            self._raise_failure()
            if self._stopping:
                raise RuntimeError("the background thread has been closed")
            self._waiting.append((work, weight))
            self._weight += weight
            self._changed.notify_all()

    def drain(self) -> None:
        """Wait until everything handed over so far is done."""
        with self._changed:
            self._changed.wait_for(lambda: self._idle or self._failure is not None)
            self._raise_failure()

    def close(self) -> None:
        """Do what is waiting, then end the thread."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._thread.join()
        with self._changed:
            self._raise_failure()

    @property
    def _idle(self) -> bool:
        return not self._waiting and not self._busy

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting) or self._stopping)
                if not self._waiting:
                    return
                work, weight = self._waiting.popleft()
                self._busy = True
            failure: BaseException | None = None
            try:
                work()
            except BaseException as error:  # noqa: BLE001  carried to the trainer's thread, whole
                failure = error
            with self._changed:
                self._busy = False
                self._weight -= weight
                if failure is not None:
                    self._failure = failure
                    self._waiting.clear()
                    self._weight = 0
                self._changed.notify_all()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
