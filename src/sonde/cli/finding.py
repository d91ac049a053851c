"""From what somebody typed to a run directory, and to what is known of it.

A run is a name below `output_dir`, or a path; without one it is the newest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sonde.errors import BadRequest, UnknownRun

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from sonde.cli.progress import Progress
    from sonde.runs.analytics.analysis import RunAnalysis, RunContents
    from sonde.runs.hub import Hub
    from sonde.runs.layout import RunLayout

READ_SECONDS = 0.5
INTERRUPTED = "Query interrupted"
"""What DuckDB raises, as a `RuntimeError`, in the place of what a signal's handler has raised."""


configured = click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A HOCON file. Default: $SONDE_CONFIG, or sonde.conf where that is here.",
)
"""The option that says where settings are."""


def placed(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say where runs are."""
    return click.option(
        "--output-dir",
        type=click.Path(path_type=Path),
        metavar="DIRECTORY",
        help="Where trainers write runs. Default: $SONDE_OUTPUT_DIR, or what the "
        "configuration says.",
    )(configured(command))


def hub_of(output_dir: Path | None, config: Path | None) -> Hub:
    """The runs under the directory that is configured."""
    from sonde.runs.hub import Hub
    from sonde.settings import load_settings

    settings = load_settings(config, flags={"aegir.p5.output_dir": output_dir})
    return Hub(settings.p5.layout())


def find(hub: Hub, run: str | None) -> RunLayout:
    """The run somebody means."""
    from dataclasses import replace

    from sonde.runs.listing import is_run

    if run is None:
        if not hub.layouts():
            raise BadRequest(no_runs(hub))
        return hub.layout_of(None)
    if "/" in run or run in (".", ".."):
        there = replace(hub.layout, directory=Path(run).expanduser().resolve())
        if is_run(there):
            return there
        raise UnknownRun(run, "sonde runs list")
    try:
        return hub.layout_of(run)
    except UnknownRun:
        raise UnknownRun(run, "sonde runs list") from None


def no_runs(hub: Hub) -> str:
    """What to say where there is nothing to find."""
    return (
        f"there are no runs in {hub.layout.directory}; name another directory with --output-dir "
        "or SONDE_OUTPUT_DIR"
    )


@contextmanager
def analysed(layout: RunLayout) -> Iterator[tuple[RunAnalysis, DuckDBPyConnection]]:
    """A run to be asked about, and a connection to ask with; Ctrl-C interrupts its queries too."""
    from sonde.runs.analytics.analysis import RunAnalysis
    from sonde.runs.analytics.database import connect

    with connect() as connection:
        analysis = RunAnalysis(connection, layout)
        try:
            yield analysis, connection
        except RuntimeError as error:
            if str(error) == INTERRUPTED:
                raise KeyboardInterrupt from error
            raise
        finally:
            analysis.close()


def read_all(analysis: RunAnalysis, shown: Progress) -> RunContents:
    """Read all of a run, however large, and say how far that is."""
    from sonde.results.numbers import size

    while not (known := analysis.advance(READ_SECONDS)).coverage.complete:
        coverage = known.coverage
        share = coverage.bytes_read / max(coverage.bytes_total, 1)
        shown.now(f"reading {size(coverage.bytes_total)} of records: {share:.0%}")
    return known
