"""`sonde replicate`: ask of a model what the literature found in another, and say what came out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sonde.cli.circuit import pairs_done
from sonde.cli.loading import load_model, placing
from sonde.cli.options import as_json, number
from sonde.cli.progress import progress
from sonde.results.numbers import MISSING, count, duration, fixed

if TYPE_CHECKING:
    from sonde.schema.replication import Replication

EXAMPLES = """\b
Examples:
  sonde replicate
  sonde replicate agreement
  sonde replicate ioi --model gpt2 --out ioi-gpt2
  sonde replicate my-pack.toml --pairs 40
"""


@click.command(
    "replicate", epilog=EXAMPLES, short_help="Ask what the literature found, of a model."
)
@click.argument("pack", required=False)
@click.option(
    "--model", metavar="NAME", help="Which model (see `sonde models`). Default: the pack's own."
)
@placing
@number("--pairs", "How many pairs. Default: as many as the pack says.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where page, tables and pictures go. Default: replications/NAME.",
)
@as_json
def command(
    pack: str | None,
    *,
    model: str | None,
    dtype: str | None,
    device: str | None,
    pairs: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run PACK: agreement, ioi, facts, or a FILE.toml of yours; without one, list them.

    Each finding of the pack is measured with an interval and held against the tolerance that the
    pack gives. The page has question, literature, this model, tolerance and verdict, and every
    table beside it. Run again, it says whether the numbers are the same to the bit.
    """
    from sonde.replication import PACKS, earlier, read_pack, replicate
    from sonde.replication.parts import Heard

    if pack is None:
        packs = [read_pack(name) for name in PACKS]
        if as_json:
            click.echo(json.dumps([each.model_dump(mode="json") for each in packs], indent=1))
        else:
            click.echo("\n".join(f"{each.name:<10} {each.title}" for each in packs))
        return
    asked = read_pack(pack)
    directory = out or Path("replications") / asked.name
    before = earlier(directory)
    with progress("preparing") as shown:
        loaded = load_model(model or asked.model, shown, dtype=dtype, device=device)
        heard = Heard(step=shown.say, event=shown.event, circuit=pairs_done(shown))
        outcome = replicate(asked, loaded, n=pairs, heard=heard)
        same = outcome.same_as(before)
        page = outcome.save(directory)
    if as_json:
        click.echo(outcome.replication.model_dump_json(indent=1))
        return
    for line in lines(outcome.replication):
        click.echo(line)
    if same is not None:
        click.echo(f"run again: {'the same bits' if same else 'other numbers'}")
    click.echo(f"page  {page}")


def lines(found: Replication) -> list[str]:
    """A verdict a line, with its number and interval."""
    out = [
        found.pack.title,
        f"{found.model}, {count(found.pairs, 'pair')}, {found.held_out} held out, "
        f"{found.dropped} left out, {duration(sum(found.seconds.values()))}",
        "",
    ]
    for each in found.answers:
        interval = MISSING
        if each.low is not None:
            interval = f"{fixed(each.value, 2)} ({fixed(each.low, 2)} to {fixed(each.high, 2)})"
        out += [
            f"{each.verdict:<13} {interval:<23} {each.finding.question}",
            f"{'':<38}{each.said}",
        ]
    if found.weights == found.pack.pinned_weights and found.pack.conclusion:
        out += ["", found.pack.conclusion]
    return [*out, ""]
