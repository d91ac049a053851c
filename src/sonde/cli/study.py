"""`sonde study`: run a study from its file, here or on Ray."""

from __future__ import annotations

import json
import sys
import time
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sonde.cli.loading import missing_engine
from sonde.cli.options import as_json, number
from sonde.cli.progress import Progress, progress, time_left
from sonde.cli.terminal import terminal_pen
from sonde.errors import BadRequest
from sonde.results.numbers import count, duration
from sonde.study import Outcome, conduct, read_study
from sonde.study.conduct import Watcher
from sonde.study.on_ray import RayCrew
from sonde.study.worker import Begun, Worker

if TYPE_CHECKING:
    from sonde.engine.pairs import PairEvent
    from sonde.schema.study import StudyModel
    from sonde.schema.table import SweepRequest
    from sonde.study.worker import Crew


@click.group("study", short_help="Run a whole study from one file, again and again.")
def command() -> None:
    """A study is one file: model, pairs, sweep, statistics. Its directory holds what came out."""


@command.command("run")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where results go. Default: beside FILE, by its name.",
)
@click.option(
    "--ray",
    metavar="ADDRESS",
    help="Compute on Ray: auto takes a cluster that runs, or starts one on this machine.",
)
@number("--workers", "With --ray: how many. Default: one a GPU, or one a machine.")
@as_json
def run(
    file: Path, *, out: Path | None, ray: str | None, workers: int | None, as_json: bool
) -> None:
    """Run the study in FILE, a .toml or .json.

    Pairs that are done are kept: stopped or killed, the same command goes on. When the study is
    complete, it is computed once more, and what differs is said; the exit status is 1 where that
    are numbers.
    """
    if workers is not None and ray is None:
        raise BadRequest("--workers is for --ray: leave it out, or give both")
    study = read_study(file)
    with progress(f"loading {study.model.name}") as shown:
        make = partial(_crew, shown=shown, ray=ray, workers=workers)
        try:
            with redirect_stdout(sys.stderr):  # Ray prints, and stdout is for what came out
                outcome = conduct(study, out or study.directory, make, _Shown(shown))
        except ModuleNotFoundError as error:
            raise missing_engine(study.model.name, error) from error
    if as_json:
        click.echo(json.dumps(_state(outcome), indent=1))
    else:
        _show(outcome)
    if not outcome.same:
        raise click.exceptions.Exit(1)


def _crew(
    model: StudyModel,
    request: SweepRequest,
    *,
    shown: Progress,
    ray: str | None,
    workers: int | None,
) -> Crew:
    if ray is not None:
        return RayCrew(ray, model, request, shown.say, workers=workers)
    return Worker(model, request, shown.say)


class _Shown(Watcher):
    """Says how many pairs are done, at each tenth, and how long the rest will take."""

    def __init__(self, shown: Progress) -> None:
        self._shown = shown
        self._left = self._done = self._tenth = 0
        self._began = self._spoke = 0.0

    def begun(self, begun: Begun, left: int, again: bool) -> None:
        """What is to be done."""
        self._left, self._began = left, time.monotonic()
        share = left / max(1, len(begun.fit))
        before = len(begun.fit) - left
        line = f"{count(left, 'pair')}, {count(round(begun.cells * share), 'cell')}"
        line += f", about {duration(begun.seconds * share)}"
        line += f"; {before:,} done before" if before else ""
        line += f"; {begun.unfit:,} unfit" if begun.unfit else ""
        line += "; complete already, computed once more" if again else ""
        self._shown.say(line)

    def done(self, event: PairEvent) -> None:
        """Another one is on disk."""
        self._done += 1
        now = time.monotonic()
        left = (self._left - self._done) * (now - self._began) / self._done
        line = f"{self._done:,} of {count(self._left, 'pair')}, {time_left(left)}"
        self._shown.now(line)
        tenth = 10 * self._done // self._left
        if tenth > self._tenth and now - self._spoke >= 1:
            self._tenth, self._spoke = tenth, now
            self._shown.say(line)


def _show(outcome: Outcome) -> None:
    from sonde.results.terminal import render

    pen = terminal_pen()
    click.echo(render(outcome.sweep, pen=pen, width=100), color=pen.color)
    click.echo(f"numbers  {outcome.numbers[:16]}, {count(outcome.computed, 'pair')} computed now")
    if outcome.differs is None:
        click.echo(f"results  {outcome.directory}")
    else:
        bits = "the same bits" if outcome.same else "other numbers"
        click.echo("; ".join([f"run again: {bits}", *outcome.differs]))


def _state(outcome: Outcome) -> dict[str, object]:
    return {
        "directory": str(outcome.directory),
        "pairs": len(outcome.sweep.pairs),
        "dropped": len(outcome.sweep.dropped),
        "computed": outcome.computed,
        "numbers": outcome.numbers,
        "differs": outcome.differs,
        "same": outcome.same,
    }
