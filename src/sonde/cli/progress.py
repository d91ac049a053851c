"""What a command says while it works, on stderr: a bar in a terminal, a few lines elsewhere.

Both kinds are used the same way: `say` lines about loading, feed `event`s of a sweep. rich is
imported only for the bar.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, Self

import click

from sonde.results.numbers import count, duration, rate
from sonde.schema import Cell, Start, SweepEvent
from sonde.schema.reward import TableSampling
from sonde.schema.table import TableCell, TableEvent, TablePair, TableStart

if TYPE_CHECKING:
    from rich.console import Console

Clock = Callable[[], float]
Event = SweepEvent | TableEvent

LINE_SECONDS = 1.0
BURST_SECONDS = 0.05
LONGEST_BURST_SECONDS = 1.0
"""Cells that come without a pause are told in pieces of this length."""


class Progress(Protocol):
    """Something that shows how far a command is; used as a context manager."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

    def say(self, line: str) -> None:
        """Show a line that stays."""
        ...

    def now(self, doing: str) -> None:
        """Name what is being done, for as long as it is."""
        ...

    def event(self, event: Event) -> None:
        """Take note of an event of a sweep."""
        ...


def progress(doing: str) -> Progress:
    """The kind that suits stderr; `doing` is shown until something happens."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        return Bar(doing)
    return Lines()


class Pace:
    """How many cells are done, how fast, and how long the rest will take.

    Cells come in bursts, one for each chunk. The first says how many are done and nothing else: as
    a rule it is the cells that need no work, and they would make it seem that the rest takes no
    time either. A burst counts once it is over, and nothing is promised before two more have: the
    first cell of a chunk is no measure of the others, and the first chunk is slower than the rest.
    """

    def __init__(self, total: int, clock: Clock) -> None:
        self.total, self.done = total, 0
        self._clock = clock
        self._last = self._opened = clock()
        self._over: list[tuple[int, float]] = []
        """For every burst that is over, the cells done by then, and when it was."""

    def cell(self, count: int = 1) -> None:
        """Another one is done, or all of a pair."""
        now = self._clock()
        if self.done == 0:
            self._opened = now
        elif self._is_over(now):
            self._over.append((self.done, self._last))
            self._opened = now
        self.done, self._last = self.done + count, now

    def _is_over(self, now: float) -> bool:
        return now - self._last >= BURST_SECONDS or now - self._opened >= LONGEST_BURST_SECONDS

    def __str__(self) -> str:
        """135 of 270 cells, 35.2 cells/s, 4 s left."""
        text, now = f"{self.done:,} of {count(self.total, 'cell')}", self._clock()
        over = [*self._over, (self.done, self._last)] if self._is_over(now) else self._over
        if len(over) < 3:
            return text
        (free, began), (known, at) = over[0], over[-1]
        speed = (known - free) / (at - began)
        left = (self.total - known) / speed - (now - at)
        return f"{text}, {rate(speed, 'cells')}, {time_left(left)}"


def cells_in(event: Event) -> int:
    """How many are done with it: a pair of many comes with all of its cells."""
    if not isinstance(event, TablePair):
        return 1
    return sum(len(next(iter(row.values()))) for row in event.values)


def time_left(seconds: float) -> str:
    """A guess, so in round numbers; one that has run out says so."""
    if seconds < 1:
        return "nearly done"
    return f"{seconds:.0f} s left" if seconds < 60 else f"{duration(seconds)} left"


class Lines:
    """Plain lines, for logs and pipes: one for each tenth, and not more than one a second."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock, self._spoke, self._tenth = clock, clock(), 0
        self._pace = Pace(0, clock)
        self._sampling = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def say(self, line: str) -> None:
        """Show a line that stays."""
        from sonde.results.tokens import visible

        click.echo(visible(line), err=True)

    def now(self, doing: str) -> None:
        """Nothing: lines are for what has happened."""

    def event(self, event: Event) -> None:
        """Speak up when another tenth is done and the last line is a second old."""
        if isinstance(event, Start | TableStart):
            self._pace, self._spoke = Pace(event.cells, self._clock), self._clock()
            self._tenth = 0
        elif isinstance(event, TableSampling):
            if event.label != self._sampling:
                self._sampling = event.label
                self.say(f"{count(event.of, 'completion')}, {event.label}")
        elif isinstance(event, Cell | TableCell | TablePair):
            self._pace.cell(cells_in(event))
            tenth = 10 * self._pace.done // self._pace.total
            if tenth > self._tenth and self._clock() - self._spoke >= LINE_SECONDS:
                self._tenth, self._spoke = tenth, self._clock()
                self.say(f"patching: {self._pace}")


class Bar:
    """One line that changes in place and is gone at the end."""

    def __init__(
        self, doing: str, console: Console | None = None, clock: Clock = time.monotonic
    ) -> None:
        from rich import progress as rich_progress
        from rich.console import Console

        from sonde.results.tokens import visible

        self._visible, self._clock, self._doing = visible, clock, doing
        self._pace: Pace | str = ""
        self._rich = rich_progress.Progress(
            rich_progress.SpinnerColumn(),
            rich_progress.TextColumn("{task.description}", markup=False),
            rich_progress.BarColumn(bar_width=16),
            rich_progress.TextColumn("{task.fields[pace]}", markup=False),
            console=console or Console(stderr=True, highlight=False),
            transient=True,
            redirect_stdout=False,
        )
        self._rich.add_task(visible(doing), total=None, pace="")
        self._task = self._rich.tasks[0]

    def __enter__(self) -> Self:
        self._rich.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._rich.stop()

    def say(self, line: str) -> None:
        """Show a line that stays, unless it is what the bar says already."""
        if line != self._doing:
            self._rich.console.print(self._visible(line), style="dim", markup=False, soft_wrap=True)
            self.now("preparing")

    def now(self, doing: str) -> None:
        """Name what is being done, beside the bar."""
        self._task.description = self._visible(doing)

    def event(self, event: Event) -> None:
        """Note it; the bar draws itself ten times a second, however many cells there are."""
        if isinstance(event, Start | TableStart):
            self.now("patching")
            self._pace = Pace(event.cells, self._clock)
            self._task.total, self._task.fields["pace"] = event.cells, self._pace
        elif isinstance(event, TableSampling):
            self.now(event.label)
        elif isinstance(event, Cell | TableCell | TablePair) and isinstance(self._pace, Pace):
            self._pace.cell(cells_in(event))
            self._task.completed = self._pace.done
