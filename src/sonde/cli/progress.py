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

if TYPE_CHECKING:
    from rich.console import Console

Clock = Callable[[], float]

LINE_SECONDS = 1.0
BURST_SECONDS = 0.05


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

    def event(self, event: SweepEvent) -> None:
        """Take note of an event of a sweep."""
        ...


def progress(doing: str) -> Progress:
    """The kind that suits stderr; `doing` is shown until something happens."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        return Bar(doing)
    return Lines()


class Pace:
    """How many cells are done, how fast, and how long the rest will take.

    The first burst of cells says how many are done and nothing else: as a rule it is the cells that
    need no work, and they would make it seem that the rest takes no time either.
    """

    def __init__(self, total: int, clock: Clock) -> None:
        self.total, self.done, self._free = total, 0, 0
        self._clock = clock
        self._last = self._began = clock()

    def cell(self) -> None:
        """Another one is done."""
        now = self._clock()
        if self.done == 0 or (self.done == self._free and now - self._last < BURST_SECONDS):
            self._free, self._began = self._free + 1, now
        self.done, self._last = self.done + 1, now

    def __str__(self) -> str:
        """135 of 270 cells, 35.2 cells/s, 4 s left."""
        text = f"{self.done:,} of {count(self.total, 'cell')}"
        if self.done == self._free:
            return text
        speed = (self.done - self._free) / (self._last - self._began)
        left = (self.total - self.done) / speed - (self._clock() - self._last)
        return f"{text}, {rate(speed, 'cells')}, {time_left(left)}"


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

    def event(self, event: SweepEvent) -> None:
        """Speak up when another tenth is done and the last line is a second old."""
        if isinstance(event, Start):
            self._pace, self._spoke = Pace(event.cells, self._clock), self._clock()
        elif isinstance(event, Cell):
            self._pace.cell()
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

    def event(self, event: SweepEvent) -> None:
        """Note it; the bar draws itself ten times a second, however many cells there are."""
        if isinstance(event, Start):
            self.now("patching")
            self._pace = Pace(event.cells, self._clock)
            self._task.total, self._task.fields["pace"] = event.cells, self._pace
        elif isinstance(event, Cell) and isinstance(self._pace, Pace):
            self._pace.cell()
            self._task.completed = self._pace.done
