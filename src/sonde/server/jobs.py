"""One thread that advances all work on the model, a turn at a time.

A job is an iterator: a sweep that yields cells, a completion that yields tokens, a call that yields
once. Each active job has a turn, until it has used its share of time, and then the next. So a
completion does not wait for a sweep to end, only for its chunk; and because all model work happens
in one thread, no job sees another's hooks, traces or half-made state.

Not a process pool and not asyncio: there is one model, and torch already uses every core.
"""

import asyncio
import logging
import math
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, Protocol, TypeVar

from sonde.backends import giving_up
from sonde.errors import EngineError, EngineLost, JobCancelled, ServerBusy, ServerStopping

T = TypeVar("T")
Item = TypeVar("Item", contravariant=True)

TURN_SECONDS = 0.02
"""A turn ends with the first item after this: a chunk of cells, or a token."""

CHUNK_SECONDS = 0.5
"""How long a job that was cancelled may take to come out of its chunk, at the next layer."""

RECENT = 32
"""So many jobs that ended tell how fast things go."""

UNKNOWN_SECONDS, LONGEST_SECONDS = 5, 600
"""What a refusal says to wait where nothing has ended yet, and at most."""

Kind = Literal["sweep", "call"]

PAUSE: Final[Any] = object()
"""An item that nobody hears: the job can do nothing before others have had their turns."""

log = logging.getLogger(__name__)


class Listener(Protocol[Item]):
    """Hears what a job makes, on the engine's thread: be quick."""

    def item(self, made: Item) -> None:
        """The next thing it made: at once, because what comes after it may take long."""
        ...

    def ended(self, error: BaseException | None) -> None:
        """Called once, last. `JobCancelled` when it was stopped before its end."""
        ...


class Job:
    """Work that waits for its turn, has turns, or has ended."""

    def __init__(
        self,
        work: Callable[[], Iterator[Any]],
        listener: Listener[Any],
        lose: Callable[[EngineLost], None] = lambda _error: None,
    ) -> None:
        """`work` makes the iterator on the engine's thread, in the job's first turn.

        `lose` hears, before the listener does, that no other job can succeed either.
        """
        self._work = work
        self._listener = listener
        self._iterator: Iterator[Any] | None = None
        self._stopped: EngineError | None = None
        self._lose = lose
        self._telling = threading.Lock()
        self._over = False

    @property
    def cancelled(self) -> bool:
        """Whether it was asked to stop."""
        return self._stopped is not None

    def cancel(self, why: EngineError | None = None) -> None:
        """Stop before the next item, or the next layer of one that takes long.

        Without effect when it has ended. It ends with `why`.
        """
        self._stopped = self._stopped or why or JobCancelled()

    def turn(self, seconds: float) -> bool:
        """Advance for a while. -> whether there is more to do."""
        error: BaseException | None = None
        more = True
        until = time.monotonic() + seconds
        try:
            if self._iterator is None and not self.cancelled:
                self._iterator = self._work()
            while more and time.monotonic() < until:
                if self._stopped is not None:
                    raise self._stopped
                with giving_up.asking(self._ask):
                    item = next(self._iterator, _END)  # type: ignore[arg-type]
                if item is PAUSE:
                    return True
                more = item is not _END
                if more:
                    self._tell(item)
        except giving_up.Unwanted:
            error, more = self._stopped, False
        except BaseException as raised:  # noqa: BLE001 - it belongs to this job, not to the thread
            error, more = raised, False
        if not more:
            self.end(error)
        return more

    def _ask(self) -> None:
        if self._stopped is not None:
            raise giving_up.Unwanted

    def end(self, error: BaseException | None) -> None:
        """Close the iterator, which undoes what it holds, and say so."""
        if isinstance(error, EngineLost):
            self._lose(error)
        close = getattr(self._iterator, "close", None)
        if error is not None and close is not None:
            try:
                close()
            except Exception as raised:
                log.error("closing a job failed", exc_info=raised)
        self._say_end(error)

    def interrupt(self, why: EngineError) -> None:
        """Say now, from whichever thread, that it has ended; what it still makes nobody hears.

        For an engine's thread that cannot be waited for: a chunk cannot be stopped half way.
        """
        self.cancel(why)
        self._say_end(why)

    def _tell(self, made: Any) -> None:
        with self._telling:
            if not self._over:
                self._listener.item(made)

    def _say_end(self, error: BaseException | None) -> None:
        """To the listener, once, by the first of the two threads."""
        with self._telling:
            if not self._over:
                self._over = True
                self._listener.ended(error)


_END = object()


@dataclass(frozen=True)
class _End:
    """Nothing more will come of a job."""

    error: BaseException | None


def until_room(took: Sequence[float], waiting: int) -> int:
    """Seconds until half of what waits has had its turn, as fast as jobs ended lately.

    Half, so that the queue is not empty when those who were refused come back.
    """
    if not took:
        return UNKNOWN_SECONDS
    each = sum(took) / len(took)
    return min(max(math.ceil(each * waiting / 2), 1), LONGEST_SECONDS)


@dataclass
class _Lane:
    """Jobs of one kind: some take turns, the rest wait for a place."""

    at_once: int
    waiting: deque[Job] = field(default_factory=deque)
    active: int = 0
    took: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))
    """Seconds from one end to the next, of the last jobs; time with nothing to do is not in it."""
    since: float = 0.0
    """When the last job ended, or the first began after there was nothing to do."""

    def admit(self) -> Job | None:
        """The next job that may begin: a cancelled one at once, others when there is room."""
        for job in self.waiting:
            if job.cancelled or self.active < self.at_once:
                self.waiting.remove(job)
                if self.active == 0:
                    self.since = time.monotonic()
                self.active += 1
                return job
        return None

    def end(self) -> None:
        """One that had its place is done."""
        now = time.monotonic()
        self.active -= 1
        self.took.append(now - self.since)
        self.since = now


class JobThread:
    """The thread, the jobs that take turns, and those that wait.

    Sweeps and everything else have places of their own, so that sweeps never keep a completion from
    beginning. `sweeps` and `calls` say how many take turns at once: more would only keep more
    unpatched runs in memory. `waiting` more of each may wait; then `submit` refuses: `ServerBusy`.

    A job that ends with `EngineLost` ends all others, and `submit` refuses with it from then on.
    """

    def __init__(self, *, sweeps: int = 4, calls: int = 16, waiting: int = 256) -> None:
        self._lanes: dict[Kind, _Lane] = {"sweep": _Lane(sweeps), "call": _Lane(calls)}
        self._most_waiting = waiting
        self._turns: deque[tuple[_Lane, Job]] = deque()
        self._changed = threading.Condition()
        self._stopping = False
        self.lost: EngineLost | None = None
        self._thread = threading.Thread(target=self._run, name="sonde-engine", daemon=True)
        self._thread.start()

    def submit(
        self, work: Callable[[], Iterator[T]], listener: Listener[T], *, kind: Kind = "call"
    ) -> Job:
        """Queue a job."""
        job = Job(work, listener, self.lose)
        with self._changed:
            self._check_room(kind)
            self._lanes[kind].waiting.append(job)
            self._changed.notify_all()
        return job

    def check_room(self, kind: Kind) -> None:
        """Refuse now what `submit` would refuse, before anything is prepared for it."""
        with self._changed:
            self._check_room(kind)

    def _check_room(self, kind: Kind) -> None:
        waiting = len(self._lanes[kind].waiting)
        if self._stopping:
            raise ServerStopping
        if self.lost is not None:
            raise self.lost
        if waiting >= self._most_waiting:
            raise ServerBusy(waiting, until_room(self._lanes[kind].took, waiting))

    def stream(self, work: Callable[[], Iterator[T]]) -> "Stream[T]":
        """Queue a job whose items are awaited on the running event loop."""
        stream: Stream[T] = Stream(asyncio.get_running_loop())
        stream.job = self.submit(work, stream)
        return stream

    async def call(self, work: Callable[[], T]) -> T:
        """Run one call between the turns of others, and await its result.

        When the awaiting task is cancelled before the call has begun, it is never made.
        """

        def once() -> Iterator[T]:
            yield work()

        stream = self.stream(once)
        try:
            async for made in stream:
                return made
        finally:
            stream.cancel()
        raise AssertionError("a call yields once")

    def counts(self) -> dict[Kind, tuple[int, int]]:
        """Per kind, jobs that take turns and jobs that wait."""
        with self._changed:
            return {kind: (lane.active, len(lane.waiting)) for kind, lane in self._lanes.items()}

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do."""
        return not any(active or waiting for active, waiting in self.counts().values())

    @property
    def stopping(self) -> bool:
        """Whether it takes no more jobs."""
        return self._stopping

    @property
    def alive(self) -> bool:
        """Whether its thread still runs."""
        return self._thread.is_alive()

    def stop(self, seconds: float = 2.0, chunk_seconds: float = CHUNK_SECONDS) -> None:
        """Take no more jobs, give those there are so long to finish, then cancel them.

        One that is in the middle of a chunk has `chunk_seconds` to come out of it; then its
        listener hears that it ended, and the thread ends when the chunk does.
        """
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._thread.join(seconds)
        self._cancel_all(ServerStopping())
        self._thread.join(chunk_seconds)
        self.interrupt()

    def interrupt(self) -> None:
        """End every job there is now, as far as its listener can tell."""
        self._stopping = True
        for job in self._left():
            job.interrupt(ServerStopping())

    def lose(self, error: EngineLost) -> None:
        """Remember that nothing more can be computed, and end everything with that."""
        self.lost = self.lost or error
        self._cancel_all(self.lost)

    def _cancel_all(self, why: EngineError) -> None:
        for job in self._left():
            job.cancel(why)

    def _left(self) -> list[Job]:
        """Jobs that have not ended."""
        with self._changed:
            waiting = [job for lane in self._lanes.values() for job in lane.waiting]
            return [job for _, job in self._turns] + waiting

    def _run(self) -> None:
        while (turn := self._next()) is not None:
            lane, job = turn
            more = job.turn(TURN_SECONDS)
            with self._changed:
                self._turns.popleft()
                if more:
                    self._turns.append((lane, job))
                else:
                    lane.end()

    def _next(self) -> tuple[_Lane, Job] | None:
        """Whose turn it is; None when the engine was stopped and nothing is left."""
        with self._changed:
            while True:
                for lane in self._lanes.values():
                    while (job := lane.admit()) is not None:
                        add = self._turns.appendleft if job.cancelled else self._turns.append
                        add((lane, job))
                if self._turns:
                    return self._turns[0]
                if self._stopping:
                    return None
                self._changed.wait()


class Stream(Generic[T]):
    """A job's items on an event loop. Leaving the iteration does not stop it; `cancel` does."""

    job: Job

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._queue: asyncio.Queue[T | _End] = asyncio.Queue()

    def item(self, made: T) -> None:
        """From the engine's thread."""
        self._put(made)

    def ended(self, error: BaseException | None) -> None:
        """From the engine's thread."""
        self._put(_End(error))

    def cancel(self) -> None:
        """Stop the job before its next turn."""
        self.job.cancel()

    async def __aiter__(self) -> AsyncIterator[T]:
        """The items one by one; raises what the job raised."""
        while not isinstance(got := await self._queue.get(), _End):
            yield got
        if got.error is not None:
            raise got.error

    def _put(self, got: "T | _End") -> None:
        try:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, got)
        except RuntimeError:
            log.debug("the event loop closed before a job's items were read")
