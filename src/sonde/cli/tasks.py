"""`sonde tasks`: the tasks there are, their pairs, and which of them a model gets right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sonde.cli.loading import load_model, placing
from sonde.cli.options import as_json, number, seeded
from sonde.cli.progress import progress
from sonde.errors import BadRequest
from sonde.schema.pair import RoleSpans
from sonde.tasks import TASKS, Pairs, task

if TYPE_CHECKING:
    from sonde.schema.pair import PromptPair

SHOWN = 5
DROPPED = 20


@click.command("tasks", short_help="List tasks, or make prompt pairs of one.")
@click.argument("name", required=False)
@number("--n", "How many pairs; of a file, all.", default=200)
@seeded
@number("--show", "How many to print.", least=0, default=SHOWN)
@click.option("--check", is_flag=True, help="Ask a model which pairs it gets right.")
@click.option(
    "--model", default="smollm2", metavar="NAME", help="Which model is asked. Default: smollm2."
)
@placing
@click.option("--drop", is_flag=True, help="Leave bad lines of a file out instead of refusing it.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE.jsonl", help="Write them.")
@as_json
def command(
    name: str | None,
    *,
    n: int,
    seed: int,
    show: int,
    check: bool,
    model: str,
    dtype: str | None,
    device: str | None,
    drop: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """List the tasks there are; with NAME, make pairs of one, or read those of a FILE.jsonl.

    With --check the pairs that the model gets wrong are left out, and said with the reason.
    """
    if name is None:
        click.echo(json.dumps({"tasks": states()}, indent=1) if as_json else listing())
        return
    made = Pairs.load(name, drop=drop) if name.endswith(".jsonl") else task(name).pairs(n, seed)
    pairs = _checked(made, model, dtype=dtype, device=device) if check else made
    if out is not None:
        _write(pairs, out)
    if as_json:
        click.echo(json.dumps(_state(pairs, show), indent=1, ensure_ascii=False))
        return
    for line in described(pairs, show, model if check else None):
        click.echo(line)
    if out is not None:
        click.echo(f"{len(pairs)} pairs written to {out}")


def states() -> list[dict[str, object]]:
    """What each task is."""
    return [
        {"name": each.name, "what": each.what, "variants": [v.name for v in each.variants]}
        | {"distinct_pairs": each.n}
        for each in TASKS.values()
    ]


def listing() -> str:
    """The tasks, a sentence each."""
    lines = []
    for each in TASKS.values():
        kinds = ", ".join(variant.name for variant in each.variants)
        lines += [each.name, f"  {each.what}", f"  {kinds}; {each.n:,} distinct pairs"]
    return "\n".join([*lines, "", "`sonde tasks NAME` makes pairs of one; so does `sonde.pairs`."])


def described(pairs: Pairs, show: int, model: str | None) -> list[str]:
    """What the pairs are, some of them, and what was left out."""
    from sonde.results.tokens import visible

    seed = "" if pairs.seed is None else f", seed {pairs.seed}"
    lines = [f"{visible(pairs.name)}: {len(pairs)} pairs{seed}, digest {pairs.digest}"]
    if pairs.licence:
        lines[0] += f", {pairs.licence}"
    if model is not None:
        right, whole = len(pairs), len(pairs.verdicts)
        lines.append(f"{visible(model)} is right on {_share(right, whole)}: {_sides(pairs)}")
    what = "pair" if model is not None else "line"
    lines += [f"  left out {what} {d.number}: {visible(d.reason)}" for d in pairs.dropped[:DROPPED]]
    if len(pairs.dropped) > DROPPED:
        lines.append(f"  and {len(pairs.dropped) - DROPPED} more")
    for pair in pairs[:show]:
        lines += ["", *map(visible, _pair(pair))]
    return lines


def _sides(pairs: Pairs) -> str:
    clean = sum(v.clean is not None and v.clean > 0 for v in pairs.verdicts)
    corrupt = sum(v.corrupt is not None and v.corrupt < 0 for v in pairs.verdicts)
    n = len(pairs.verdicts)
    if any(pair.foil is None for pair in pairs):
        return "its answer is likelier after the clean prompt"
    return f"{_share(clean, n)} after the clean prompt, {_share(corrupt, n)} after the corrupt one"


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.1f} %)"


def _pair(pair: PromptPair) -> list[str]:
    spans = [
        f"{name}={role.clean.strip()}/{role.corrupt.strip()}"
        if isinstance(role, RoleSpans)
        else f"{name}={role.strip()}"
        for name, role in pair.roles.items()
    ]
    foil = "" if pair.foil is None else f"   foil {pair.foil!r}"
    return [
        f"clean    {pair.clean}",
        f"corrupt  {pair.corrupt}",
        f"answer   {pair.answer!r}{foil}",
        f"roles    {', '.join(spans) or 'none'}   cluster {pair.cluster or 'none'}",
    ]


def _state(pairs: Pairs, show: int) -> dict[str, object]:
    found: dict[str, object] = {
        "name": pairs.name,
        "seed": pairs.seed,
        "licence": pairs.licence,
        "digest": pairs.digest,
        "n": len(pairs),
        "checked": len(pairs.verdicts),
        "dropped": [{"number": each.number, "reason": each.reason} for each in pairs.dropped],
        "pairs": [pair.model_dump(mode="json", exclude_defaults=True) for pair in pairs[:show]],
    }
    return found


def _checked(pairs: Pairs, model: str, **options: str | None) -> Pairs:
    with progress(f"loading {model}") as shown:
        loaded = load_model(model, shown, **options)
        shown.now(f"asking about {len(pairs)} pairs")
        return pairs.check(loaded)


def _write(pairs: Pairs, out: Path) -> None:
    if out.exists():
        raise BadRequest(f"{out} is there already; name another file, or remove it")
    pairs.save(out)
