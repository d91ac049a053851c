"""`sonde watch`: a run while it trains, drawn in the terminal from its files. No server is needed.

In a terminal the picture is redrawn in place, on a screen of its own; what was there before comes
back at the end, with the last picture below it. Elsewhere a picture is written whenever something
has changed.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

import click

from sonde.cli.finding import analysed, find, hub_of, placed, read_all
from sonde.cli.progress import progress
from sonde.cli.terminal import terminal_pen

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from sonde.cli.watch_view import View
    from sonde.runs.analytics.analysis import RunAnalysis, RunContents
    from sonde.runs.hub import Hub
    from sonde.runs.layout import RunLayout

EXAMPLES = """\b
Examples:
  sonde watch
  sonde watch my-run --every 5
  sonde watch ./runs/my-run --once --no-color
"""

ENTER, LEAVE, SHOWN = "\x1b[?1049h\x1b[?25l", "\x1b[?1049l", "\x1b[?25h"
"""To a screen of its own without a cursor, back, and the cursor shown again."""
HOME, LINE_END, BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
TERMINATED = 128 + signal.SIGTERM
"""The exit status that shells expect of a process that was told to end."""


@click.command("watch", epilog=EXAMPLES, short_help="Watch a run in the terminal.")
@click.argument("run", required=False)
@placed
@click.option("--once", is_flag=True, help="One picture, and no more.")
@click.option(
    "--every",
    type=click.FloatRange(0.1, 3600),
    default=1.0,
    metavar="SECONDS",
    help="How often to look. Default: every second.",
)
@click.option("--mean", is_flag=True, help="Mean loss of each column instead of the highest.")
@click.option("--no-color", is_flag=True, help="Digits instead of colours; so does $NO_COLOR.")
@click.option(
    "--light", is_flag=True, help="For a light background, where the terminal does not say."
)
def command(
    run: str | None,
    output_dir: Path | None,
    config: Path | None,
    once: bool,
    every: float,
    mean: bool,
    no_color: bool,
    light: bool,
) -> None:
    """Watch a run: layers over time, reward, fit and warnings, until Ctrl-C.

    RUN is a name that `sonde runs list` shows, or a path; without it, the newest.
    """
    from sonde.cli.watch_view import View

    pen = terminal_pen(color=not no_color, light=light)
    hub = hub_of(output_dir, config)
    if run is None and not once:
        wait_for_one(hub, every)
    layout = find(hub, run)

    def view() -> View:
        width = shutil.get_terminal_size().columns
        return View(pen, width, "mean" if mean else "high")

    with analysed(layout) as (analysis, connection):
        if once:
            with progress("reading the run") as shown:
                known = read_all(analysis, shown)
            click.echo("\n".join(drawn(hub, layout, known, connection, view())))
            return
        pictures = follow(analysis, every)
        show(drawn(hub, layout, known, connection, view()) for known in pictures)


def wait_for_one(hub: Hub, every: float) -> None:
    """Wait until there is a run at all."""
    if not hub.layouts():
        click.echo(f"waiting for a run in {hub.layout.directory}", err=True)
    while not hub.layouts():
        time.sleep(every)


def follow(analysis: RunAnalysis, every: float) -> Iterator[RunContents]:
    """What is known of a run, again and again."""
    while True:
        known = analysis.advance(every)
        yield known
        if known.coverage.complete:
            time.sleep(every)


def show(pictures: Iterable[list[str]]) -> None:
    """Draw pictures in place, or write each that differs from the one before."""
    last: list[str] = []
    with screen() as in_place:
        try:
            for lines in pictures:
                if in_place:
                    redraw(lines)
                elif lines[2:] != last[2:]:  # above is how long ago it was written
                    click.echo("\n".join([*lines, ""]))
                last = lines
        finally:
            if in_place:
                sys.stdout.write(LEAVE + "\n".join([*last, ""]))


def drawn(
    hub: Hub, layout: RunLayout, known: RunContents, connection: DuckDBPyConnection, view: View
) -> list[str]:
    """The lines of one picture."""
    from sonde.cli.watch_view import frame
    from sonde.runs.reader import run_row

    return frame(known, connection, run_row(layout, hub.name_of(layout)), time.time(), view)


def redraw(lines: list[str]) -> None:
    """Put a picture over the one before, as much of it as fits the screen."""
    shown = lines[: max(1, shutil.get_terminal_size().lines - 1)]
    sys.stdout.write(HOME + "".join(f"{line}{LINE_END}\n" for line in shown) + BELOW)
    sys.stdout.flush()


@contextmanager
def screen() -> Iterator[bool]:
    """A screen of its own where there is one, and the old one back however it ends."""
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        yield False
        return

    stopped = False

    def ended(_number: int, _frame: FrameType | None) -> NoReturn:
        nonlocal stopped
        stopped = True
        raise SystemExit(TERMINATED)

    before = signal.signal(signal.SIGTERM, ended)
    sys.stdout.write(ENTER)
    sys.stdout.flush()
    try:
        yield True
    except RuntimeError as error:
        if stopped:  # during a query: see `INTERRUPTED`
            raise SystemExit(TERMINATED) from error
        raise
    finally:
        sys.stdout.write(SHOWN)
        sys.stdout.flush()
        signal.signal(signal.SIGTERM, before)
