"""Analytics for a server: several runs, read by one thread and asked by others.

    analytics = Analytics()
    body = await analytics.ask(layout, lambda known, cursor: layer_tile(known, cursor, axis))

Nothing runs on the event loop, or on the threads that streams use. One thread reads, in turns of
half a second, so that a large run does not keep a small one waiting; two answer. A question waits
for what is new to be read, but no longer than `wait`: after that it is answered from what is known,
and `coverage` says how much that is. Reading goes on meanwhile.

What is open is bounded: the run that was asked about longest ago is closed when there are too many.
Nothing heavy is imported before the first question.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sonde.errors import ServerStopping
from sonde.runs.layout import RunLayout
from sonde.schema.base import Wire

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from sonde.runs.analytics.analysis import RunAnalysis, RunContents

Question = Callable[["RunContents", "DuckDBPyConnection"], Wire]
Result = TypeVar("Result")

TURN_SECONDS = 0.5
YIELD_SECONDS = 0.0005
"""After each block that is checked: streams are served by the same interpreter."""
WAIT_SECONDS = 2.0
MOST_RUNS = 4
ASKING = 2


class _Run:
    """A run that is open, and whether it is being read."""

    def __init__(self, analysis: "RunAnalysis") -> None:
        self.analysis = analysis
        self.reading: Future[None] | None = None


class Analytics:
    """See above. `ask` is for the event loop; `close` ends everything."""

    def __init__(self, *, wait: float = WAIT_SECONDS, most_runs: int = MOST_RUNS) -> None:
        self._wait, self._most_runs = wait, most_runs
        self._reader = ThreadPoolExecutor(1, "sonde-analytics-reader")
        self._askers = ThreadPoolExecutor(ASKING, "sonde-analytics")
        self._lock = threading.RLock()  # a turn may be over before it is looked at
        self._runs: OrderedDict[Path, _Run] = OrderedDict()
        self._connection: DuckDBPyConnection | None = None
        self._stopping = False

    async def ask(self, layout: RunLayout, question: Question) -> bytes:
        """The answer to a question about a run, as JSON."""
        run = await self.call(self._open, layout)
        await self._caught_up(run)
        try:
            return await self.call(self._answer, run, question)
        except self._gone():
            # files were rewritten, and what was read of them is void: ask what is known now
            run = await self.call(self._open, layout)
            await self._caught_up(run)
            return await self.call(self._answer, run, question)

    async def call(self, work: Callable[..., Result], *arguments: object) -> Result:
        """Do something on the threads that answer."""
        if self._stopping:
            raise ServerStopping
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._askers, work, *arguments)

    def close(self) -> None:
        """Stop reading and answering, and let everything go. Blocks for a moment."""
        with self._lock:
            self._stopping = True
            runs = list(self._runs.values())
            self._runs.clear()
        for run in runs:
            run.analysis.stop()
        self._askers.shutdown(cancel_futures=True)
        self._reader.shutdown()
        for run in runs:
            run.analysis.close()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self, layout: RunLayout) -> _Run:
        """The run in a directory, being read."""
        from sonde.runs.analytics.analysis import RunAnalysis

        with self._lock:
            if self._stopping:
                raise ServerStopping
            run = self._runs.get(layout.directory)
            if run is None:
                run = _Run(RunAnalysis(self._database(), layout))
                run.analysis.yield_often(YIELD_SECONDS)
                self._runs[layout.directory] = run
            self._runs.move_to_end(layout.directory)
            if run.reading is None or run.reading.done():
                run.reading = Future()
                run.reading.set_running_or_notify_cancel()
                self._turn(run, run.reading)
            self._close_some()
            return run

    def _database(self) -> "DuckDBPyConnection":
        from sonde.runs.analytics.database import connect

        if self._connection is None:
            self._connection = connect()
        return self._connection

    def _close_some(self) -> None:
        """Close runs that nobody has asked about for long, if there are too many."""
        idle = [
            path for path, run in self._runs.items() if run.reading is None or run.reading.done()
        ]
        for path in idle[: max(0, len(self._runs) - self._most_runs)]:
            self._reader.submit(self._runs.pop(path).analysis.close)

    def _turn(self, run: _Run, reading: "Future[None]") -> None:
        """Let a run be read for a while, after those that wait already."""
        turn = self._reader.submit(run.analysis.advance, TURN_SECONDS)
        turn.add_done_callback(lambda done: self._turned(run, reading, done))

    def _turned(self, run: _Run, reading: "Future[None]", turn: "Future[RunContents]") -> None:
        """Another turn, unless all is read; what went wrong is told to those who wait."""
        failure = turn.exception()
        with self._lock:
            if failure is not None:
                reading.set_exception(failure)
            elif turn.result().ingested.complete or self._stopping:
                reading.set_result(None)
            else:
                self._turn(run, reading)

    async def _caught_up(self, run: _Run) -> None:
        """Wait until all is read, or for as long as that may take."""
        reading = run.reading
        if reading is None:
            return
        waiting = asyncio.wrap_future(reading)
        done, _ = await asyncio.wait({waiting}, timeout=self._wait)
        if done:
            waiting.result()

    def _answer(self, run: _Run, question: Question) -> bytes:
        assert self._connection is not None
        with self._connection.cursor() as cursor:
            return question(run.analysis.known, cursor).model_dump_json().encode()

    @staticmethod
    def _gone() -> tuple[type[Exception], ...]:
        """What is raised when a table or a volume is no longer there."""
        from duckdb import CatalogException, IOException

        return CatalogException, IOException, FileNotFoundError
