"""`sonde runs`: which runs there are, what is in one, and one to take along.

From the files alone: no server, no model, no torch; `changed` and `story` alone load checkpoints.
It says what the server's routes answer.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sonde.cli.changed import changed
from sonde.cli.finding import analysed, find, hub_of, no_runs, placed, read_all
from sonde.cli.options import as_json, number
from sonde.cli.progress import progress
from sonde.cli.story import story

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from sonde.runs.analytics.analysis import RunContents
    from sonde.runs.layout import RunLayout

EXAMPLES = """\b
Examples:
  sonde runs list
  sonde runs show
  sonde runs changed my-run
  sonde runs story my-run --save story.html
  sonde runs export my-run --to my-run.zip
  sonde runs export my-run --to my-run.html
  sonde runs export my-run --to my-run-parquet --format parquet
"""


@click.group("runs", epilog=EXAMPLES, short_help="List, show, compare and export runs.")
def command() -> None:
    """Runs of trainers, from their files. No server is needed.

    RUN is a name that `list` shows, or a path; without it, the newest.
    """


command.add_command(changed)
command.add_command(story)


@command.command("list")
@placed
@as_json
def list_runs(output_dir: Path | None, config: Path | None, as_json: bool) -> None:
    """The runs there are, the one written to last first."""
    from sonde.cli.run_view import run_table
    from sonde.runs.reader import run_list

    hub = hub_of(output_dir, config)
    found = run_list(hub)
    if as_json:
        click.echo(found.model_dump_json())
    elif not found.runs:
        click.echo(no_runs(hub), err=True)
    else:
        for line in run_table(found.runs, shutil.get_terminal_size().columns):
            click.echo(line)


@command.command("show")
@click.argument("run", required=False)
@placed
@number("--layer", "Whose loss is compared with the reward. Default: the last.", least=0)
@number("--last", "The vocabulary of the last so many passed generations. Default: of all.")
@as_json
def show(
    run: str | None,
    output_dir: Path | None,
    config: Path | None,
    layer: int | None,
    last: int | None,
    as_json: bool,
) -> None:
    """One run: records, rewards, how loss goes with them, and the vocabulary."""
    from sonde.cli.run_view import run_page
    from sonde.runs.analytics.curves import health_curves, reward_curves
    from sonde.runs.analytics.overview import overview
    from sonde.runs.analytics.scatter import scatter
    from sonde.runs.analytics.vocabulary import vocabulary
    from sonde.runs.reader import run_info, run_row

    hub = hub_of(output_dir, config)
    layout = find(hub, run)
    with analysed(layout) as (analysis, connection):
        with progress("reading the run") as shown:
            known = read_all(analysis, shown)
        layer = layer if layer is not None else next(iter(reversed(known.layers)), None)
        answers = {
            "overview": overview(known, connection, hub.name_of(layout)),
            "scatter": scatter(known, connection, layer),
            "vocabulary": vocabulary(known, connection, n=last),
            "rewards": reward_curves(known, columns=60),
            "health": health_curves(known),
        }
    if as_json:
        plain = {name: answer.model_dump() for name, answer in answers.items()}
        click.echo(json.dumps(plain, allow_nan=False))
        return
    width = shutil.get_terminal_size().columns
    row = run_row(layout, hub.name_of(layout))
    for line in run_page(info=run_info(layout), row=row, width=width, **answers):  # type: ignore[arg-type]
        click.echo(line)


@command.command("export")
@click.argument("run", required=False)
@placed
@click.option(
    "--to",
    "target",
    required=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The zip, the HTML file, or the folder of Parquet files.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["zip", "html", "parquet"]),
    help="zip: the files themselves, to be opened elsewhere. html: one page to look at, which "
    "needs no server. parquet: records, generations, metrics and health as tables. Default: "
    "what the name ends in, else zip.",
)
@click.option("--force", is_flag=True, help="Replace what is there.")
def export(
    run: str | None,
    output_dir: Path | None,
    config: Path | None,
    target: Path,
    form: str | None,
    force: bool,
) -> None:
    """A run to take along, without weights. A run that is being written is taken as it is now."""
    from sonde.results.numbers import count, size
    from sonde.runs.analytics.export import to_file, to_parquet, to_zip

    hub = hub_of(output_dir, config)
    layout = find(hub, run)
    form = form or ("html" if target.suffix.lower() in (".html", ".htm") else "zip")
    if form == "zip":
        with progress("packing") as shown:
            shown.now(f"packing {layout.directory}")
            files = to_zip(layout, target, replace=force)
        click.echo(f"{target}: {count(files, 'file')}")
        return
    with analysed(layout) as (analysis, connection), progress("reading the run") as shown:
        known = read_all(analysis, shown)
        if form == "html":
            shown.now("drawing the page")
            page = _page(known, connection, layout, hub.name_of(layout))
            written = to_file(page, target, replace=force)
            click.echo(f"{target}: {size(written)}, opens without a server")
            return
        shown.now("writing Parquet")
        names = to_parquet(known, connection, layout, target, replace=force)
    click.echo(f"{target}: {', '.join(names)}")


def _page(known: RunContents, connection: DuckDBPyConnection, layout: RunLayout, name: str) -> str:
    """A run as one page. What the server has for it, used without one."""
    from sonde.results.run_page import run_page
    from sonde.server.routes import ui
    from sonde.server.routes.run_page import assets_of, copy_of
    from sonde.server.run_tokens import splitter

    assets = assets_of(ui.BUILT)
    copy = copy_of(known, connection, layout, name, splitter(layout, elsewhere=True))
    return run_page(name, copy.model_dump_json(), assets)
