"""The engine's thread: turns, order, cancellation, limits, and errors that stay with their job."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sonde.backends import giving_up
from sonde.errors import EngineLost, JobCancelled, ServerBusy, ServerStopping
from sonde.server import jobs
from sonde.server.jobs import TURN_SECONDS, Job, JobThread, until_room


class Heard:
    """Keeps what a job said."""

    def __init__(self) -> None:
        self.made: list[Any] = []
        self.error: BaseException | None = None
        self.over = threading.Event()

    def item(self, made: Any) -> None:
        self.made.append(made)

    def ended(self, error: BaseException | None) -> None:
        assert not self.over.is_set(), "ended twice"
        self.error = error
        self.over.set()

    def wait(self) -> "Heard":
        assert self.over.wait(20)
        return self


class Gate:
    """A job that stands in its turn until it is let go."""

    def __init__(self) -> None:
        self.inside, self.go = threading.Event(), threading.Event()

    def work(self) -> Iterator[str]:
        self.inside.set()
        assert self.go.wait(20)
        yield "gate"


@pytest.fixture
def engine() -> Iterator[JobThread]:
    made = JobThread(sweeps=2, calls=2, waiting=3)
    yield made
    made.stop(0)
    assert not made._thread.is_alive()


def counting(n: int, seen: list[tuple[str, int]], name: str) -> Callable[[], Iterator[int]]:
    def work() -> Iterator[int]:
        for i in range(n):
            seen.append((name, i))
            time.sleep(TURN_SECONDS)  # a whole turn each
            yield i

    return work


def test_a_job_runs_to_its_end_in_order(engine: JobThread) -> None:
    heard = Heard()
    engine.submit(lambda: iter(range(1000)), heard)
    assert heard.wait().made == list(range(1000))
    assert heard.error is None


def test_jobs_take_turns(engine: JobThread) -> None:
    seen: list[tuple[str, int]] = []
    gate = Gate()
    engine.submit(gate.work, Heard())
    assert gate.inside.wait(20)
    heard = [Heard(), Heard()]
    engine.submit(counting(3, seen, "sweep"), heard[0], kind="sweep")
    engine.submit(counting(3, seen, "completion"), heard[1])
    gate.go.set()
    for each in heard:
        each.wait()
    assert seen == [(name, i) for i in range(3) for name in ("sweep", "completion")]


def test_sweeps_never_keep_a_completion_from_beginning(engine: JobThread) -> None:
    seen: list[tuple[str, int]] = []
    sweeps = [Heard() for _ in range(3)]
    for each in sweeps:
        engine.submit(counting(5, seen, "sweep"), each, kind="sweep")
    completion = Heard()
    engine.submit(counting(1, seen, "completion"), completion)
    completion.wait()
    assert seen.count(("sweep", 4)) == 0
    for each in sweeps:
        each.wait()


def test_an_error_belongs_to_the_job_that_raised_it(engine: JobThread) -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise ZeroDivisionError

    bad, good = Heard(), Heard()
    engine.submit(broken, bad)
    engine.submit(lambda: iter([2]), good)
    assert isinstance(bad.wait().error, ZeroDivisionError)
    assert (bad.made, good.wait().made) == ([1], [2])


def test_work_that_cannot_even_begin_ends_with_its_error(engine: JobThread) -> None:
    def broken() -> Iterator[int]:
        raise ValueError("no")

    heard = Heard()
    engine.submit(broken, heard)
    assert isinstance(heard.wait().error, ValueError)


def test_a_cancelled_job_is_closed_before_its_next_turn(engine: JobThread) -> None:
    closed = threading.Event()
    begun = threading.Event()

    def endless() -> Iterator[int]:
        try:
            while True:
                begun.set()
                time.sleep(TURN_SECONDS)
                yield 0
        finally:
            closed.set()

    heard = Heard()
    job = engine.submit(endless, heard)
    assert begun.wait(20)
    job.cancel()
    assert isinstance(heard.wait().error, JobCancelled)
    assert closed.is_set()
    assert engine.counts()["call"] == (0, 0)


def test_a_cancelled_job_is_out_of_its_chunk_at_the_next_layer(engine: JobThread) -> None:
    begun = threading.Event()

    def one_long_chunk() -> Iterator[int]:
        while True:
            begun.set()
            giving_up.check()
        yield 0

    heard = Heard()
    job = engine.submit(one_long_chunk, heard)
    assert begun.wait(20)
    job.cancel()
    assert isinstance(heard.wait().error, JobCancelled)
    giving_up.check()


def test_a_cancelled_job_that_waits_ends_without_having_begun(engine: JobThread) -> None:
    gates = [Gate(), Gate()]
    for gate in gates:
        engine.submit(gate.work, Heard(), kind="sweep")
    begun: list[int] = []
    heard = Heard()
    job = engine.submit(lambda: iter(begun.append(1) or []), heard, kind="sweep")  # type: ignore[func-returns-value]
    job.cancel()
    gates[0].go.set()
    assert isinstance(heard.wait().error, JobCancelled)
    assert begun == []
    gates[1].go.set()


def test_when_the_engine_is_lost_every_job_ends_with_that_and_no_other_is_taken(
    engine: JobThread,
) -> None:
    gate, known = Gate(), list[EngineLost | None]()

    class Asks(Heard):
        """Looks at the engine as soon as it hears of the end, as a client does."""

        def ended(self, error: BaseException | None) -> None:
            known.append(engine.lost)
            super().ended(error)

    def dies() -> Iterator[int]:
        yield from gate.work()  # type: ignore[misc]
        raise EngineLost("a worker ended")

    dying, beside, waiting = Asks(), Heard(), Heard()
    engine.submit(dies, dying, kind="sweep")
    assert gate.inside.wait(20)
    engine.submit(counting(3, [], "beside"), beside)
    for _ in range(2):
        engine.submit(counting(1, [], "waiting"), waiting if _ else Heard(), kind="sweep")
    gate.go.set()
    assert isinstance(dying.wait().error, EngineLost)
    assert known == [dying.error]
    assert beside.wait().error is waiting.wait().error is engine.lost is dying.error
    with pytest.raises(EngineLost, match="a worker ended"):
        engine.submit(counting(1, [], "late"), Heard())


def test_more_than_may_wait_is_refused(engine: JobThread) -> None:
    gate = Gate()
    engine.submit(gate.work, Heard())
    assert gate.inside.wait(20)
    heard = [Heard() for _ in range(3)]
    for each in heard:
        engine.submit(lambda: iter([1]), each)
    with pytest.raises(ServerBusy, match="3 requests are waiting already") as refused:
        engine.submit(lambda: iter([1]), Heard())
    assert refused.value.retry_after > 0
    engine.submit(lambda: iter([1]), Heard(), kind="sweep")
    gate.go.set()
    assert [each.wait().made for each in heard] == [[1], [1], [1]]


def test_stopping_finishes_what_it_can_and_cancels_the_rest() -> None:
    engine = JobThread()
    short, endless = Heard(), Heard()
    engine.submit(counting(1, [], "short"), short)

    def forever() -> Iterator[int]:
        while True:
            time.sleep(TURN_SECONDS)
            yield 0

    engine.submit(forever, endless)
    engine.stop(0.3)
    assert short.over.is_set()
    assert short.error is None
    assert isinstance(endless.error, ServerStopping)
    with pytest.raises(ServerStopping):
        engine.submit(lambda: iter([1]), Heard())


def test_items_are_awaited_on_an_event_loop(engine: JobThread) -> None:
    async def main() -> list[int]:
        return [item async for item in engine.stream(lambda: iter(range(500)))]

    assert asyncio.run(main()) == list(range(500))


def test_what_a_job_raises_is_raised_where_it_is_awaited(engine: JobThread) -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise KeyError("here")

    async def main() -> None:
        async for _ in engine.stream(broken):
            pass

    with pytest.raises(KeyError, match="here"):
        asyncio.run(main())


def test_a_call_gives_its_result_or_its_error(engine: JobThread) -> None:
    def fails() -> int:
        raise ValueError("bad")

    async def main() -> None:
        assert await engine.call(lambda: 42) == 42
        with pytest.raises(ValueError, match="bad"):
            await engine.call(fails)

    asyncio.run(main())


def test_a_call_whose_caller_left_is_never_made(engine: JobThread) -> None:
    made: list[int] = []

    async def main() -> None:
        gate = Gate()
        engine.submit(gate.work, Heard())
        await asyncio.to_thread(gate.inside.wait, 20)
        task = asyncio.create_task(engine.call(lambda: made.append(1)))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        gate.go.set()
        await engine.call(lambda: None)

    asyncio.run(main())
    assert made == []


def test_07_a_job_that_cannot_be_waited_for_ends_for_its_listener_and_only_once() -> None:
    """It is in the middle of a chunk; when it comes out of it, nobody hears it any more."""
    engine, gate, heard, waiting = JobThread(calls=1), Gate(), Heard(), Heard()
    engine.submit(gate.work, heard)
    assert gate.inside.wait(20)
    engine.submit(lambda: iter([1]), waiting)
    engine.stop(0, 0.01)
    assert engine.alive
    for each in (heard, waiting):
        assert isinstance(each.wait().error, ServerStopping)
    gate.go.set()
    engine._thread.join(20)
    assert heard.made == waiting.made == []
    engine.stop(0)


def test_a_refusal_says_when_half_of_what_waits_will_be_done() -> None:
    assert until_room([], 64) == 5, "nothing has ended yet"
    assert until_room([2.0, 6.0, 1.5, 0.5], 64) == 80, "four in ten seconds"
    assert until_room([0.0] * 32, 64) == 1, "never none"
    assert until_room([10_000.0], 64) == 600, "never for long"


def test_an_idle_hour_is_not_how_long_jobs_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two jobs of two seconds with an hour between them, then one that ends a second later."""
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    lane = jobs._Lane(at_once=2)

    def begin() -> None:
        lane.waiting.append(Job(lambda: iter([1]), Heard()))
        assert lane.admit() is not None

    begin()
    clock[0] += 2
    lane.end()
    clock[0] += 3600
    begin()
    begin()
    clock[0] += 2
    lane.end()
    clock[0] += 1
    lane.end()
    assert list(lane.took) == [2, 2, 1]


def test_it_goes_by_the_jobs_that_ended(engine: JobThread, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three that have ended, while one is there and three wait."""
    monkeypatch.setattr(jobs, "until_room", lambda took, waiting: 10 * len(took) + waiting)
    for _ in range(3):
        done = Heard()
        engine.submit(lambda: iter([1]), done)
        done.wait()
    gate = Gate()
    engine.submit(gate.work, Heard())
    assert gate.inside.wait(20)
    for _ in range(3):
        engine.submit(lambda: iter([1]), Heard())
    with pytest.raises(ServerBusy, match="try again in 33 seconds"):
        engine.submit(lambda: iter([1]), Heard())
    gate.go.set()
