"""`sonde circuit`: the strongest edges or nodes of a result, as a file, a picture, or judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sonde.cli import parse
from sonde.cli.loading import load_model, placing
from sonde.cli.options import as_json, number, seeded
from sonde.cli.pairs import FORM, pairs_of
from sonde.cli.progress import Progress, progress, time_left
from sonde.cli.sweep import DEFAULT_MODEL
from sonde.errors import BadRequest

if TYPE_CHECKING:
    from sonde.model import Model
    from sonde.results import Circuit
    from sonde.results.circuit import OnCircuit
    from sonde.schema.circuit import CircuitEvaluation, CircuitEvent

EXAMPLES = """\b
Examples:
  sonde circuit circuit.json --save circuit.svg
  sonde circuit nodes.json --nodes 30 --save circuit.json --save circuit.svg
  sonde circuit circuit.json --pairs agreement:20 --curve curve.svg
"""
SHOWN = 20
SIZES_FORM = "write sizes such as 10,50,200"


@click.command("circuit", epilog=EXAMPLES, short_help="A circuit: save, draw, judge it.")
@click.argument("file")
@number("--edges", "How many of the strongest edges. Default: all that the file has.")
@number("--nodes", "The same of nodes: heads and MLPs, and all edges between them.")
@click.option(
    "--rule",
    type=click.Choice(["absolute", "signed"]),
    default="absolute",
    help="What is strongest: either way, or upwards only. Default: absolute.",
)
@click.option(
    "--pairs",
    metavar="PAIRS",
    help=f"Run it on these prompt pairs, and say how much of the model it is: {FORM}.",
)
@click.option("--sizes", metavar="SIZES", help="Of circuits that are run, such as 10,50,200.")
@click.option(
    "--metric",
    type=click.Choice(["logit_diff", "logprob", "prob", "kl_clean"]),
    help="Default: logit_diff where all pairs have a foil.",
)
@click.option("--no-random", is_flag=True, help="Run no random circuits beside them.")
@click.option("--keep-wrong", is_flag=True, help="Keep pairs that the model gets wrong.")
@seeded
@click.option(
    "--model",
    metavar="NAME",
    help="The model that it is run on (see `sonde models`). Default: the one it was found in.",
)
@placing
@as_json
@click.option("--save", multiple=True, metavar="FILE", help="Write the circuit as .json or .svg.")
@click.option(
    "--curve", multiple=True, metavar="FILE", help="Write what it is worth: .json, .svg or .png."
)
def command(
    *,
    file: str,
    edges: int | None,
    nodes: int | None,
    rule: str,
    pairs: str | None,
    sizes: str | None,
    metric: str | None,
    no_random: bool,
    keep_wrong: bool,
    seed: int,
    model: str | None,
    dtype: str | None,
    device: str | None,
    as_json: bool,
    save: tuple[str, ...],
    curve: tuple[str, ...],
) -> None:
    """Make a circuit of a result, draw it, and say how much of the model it is.

    FILE is a circuit that was saved before, the .json of a sweep or an attribution, or a JSON list
    of [sender, receiver, score]. With --pairs the circuit is run: its edges carry the clean prompt,
    all others the corrupt one.
    """
    from sonde.results.circuit import check_suffix
    from sonde.results.circuit_curve import SUFFIXES, lines, strongest

    for path in save:
        check_suffix(path)
    for path in curve:
        check_suffix(path, SUFFIXES)
    if pairs is None and (curve or sizes or metric):
        raise BadRequest("--curve, --sizes and --metric are about running it: name --pairs")
    if edges is not None and nodes is not None:
        raise BadRequest("a circuit is of --edges or of --nodes: give one of the two")
    chosen = None if pairs is None else pairs_of("--pairs", pairs, seed)
    options: dict[str, Any] = {
        "sizes": None if sizes is None else parse.numbers("--sizes", sizes, SIZES_FORM),
        "metric": metric, "random": not no_random, "drop_wrong": not keep_wrong, "seed": seed,
    }  # fmt: skip
    placed = {"dtype": dtype, "device": device}
    content = _read(file)
    with progress("reading") as shown:
        loaded = None
        if chosen is not None or not _is_circuit(content):
            name = model or _found_in(content) or DEFAULT_MODEL
            shown.now(f"loading {name}")
            loaded = load_model(name, shown, **placed)
        circuit = _circuit(content, file, edges, nodes, rule, loaded)
        found = None
        if chosen is not None and loaded is not None:
            shown.now(f"running {len(circuit):,} {circuit.kind}")
            request = circuit.request(chosen, **options)
            found = loaded.evaluate(request, on_event=pairs_done(shown))
    if as_json:
        click.echo(circuit.to_json() if found is None else found.model_dump_json(indent=1))
    else:
        told = strongest(circuit.edges or circuit.nodes, SHOWN) if found is None else lines(found)
        click.echo("\n".join(told))
    for path in save:
        click.echo(f"saved {circuit.save(path)}", err=True)
    if found is not None:
        for path in curve:
            click.echo(f"saved {_written(found, path)}", err=True)


def _read(file: str) -> Any:
    """What a file holds: a list of scores, or the fields of a circuit or a result."""
    try:
        content = json.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadRequest(f"{parse.shown(file)} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise BadRequest(f"{parse.shown(file)} is no JSON: {error}") from error
    if not isinstance(content, dict | list):
        raise BadRequest(f"{parse.shown(file)} holds no circuit, no result and no list of scores")
    return content


def _is_circuit(content: Any) -> bool:
    return isinstance(content, dict) and str(content.get("format")).startswith("sonde.circuit")


def _found_in(content: Any) -> str | None:
    """The model that a circuit or a result is of."""
    known = content if isinstance(content, dict) else {}
    told = known.get("model") or (known.get("provenance") or {}).get("model")
    return told if isinstance(told, str) and told else None


def _circuit(
    content: Any,
    file: str,
    edges: int | None,
    nodes: int | None,
    rule: Any,
    model: Model | None,
) -> Circuit:
    from sonde.results import Circuit

    if isinstance(content, list):
        assert model is not None
        if not all(isinstance(row, list) and len(row) in (2, 3, 4) for row in content):
            raise BadRequest(
                f"{parse.shown(file)} is no list of [sender, receiver, score], or [node, score]"
            )
        known = model.describe()
        if all(len(row) == 2 for row in content):
            return Circuit.of_nodes(content, known, nodes=nodes, rule=rule)
        return Circuit.of(content, known, edges=edges, rule=rule)
    if _is_circuit(content):
        found = Circuit.from_json(json.dumps(content), name=file)
        most = edges if found.kind == "edges" else nodes
        if (edges is not None and found.kind != "edges") or (nodes and found.kind != "nodes"):
            raise BadRequest(
                f"{parse.shown(file)} is a circuit of {found.kind}: name --{found.kind}"
            )
        return found if most is None else found.top(most)
    from sonde.results import Sweep

    return Sweep.from_json(Path(file)).circuit(edges=edges, nodes=nodes, rule=rule, model=model)


def pairs_done(shown: Progress) -> OnCircuit:
    """Says how many pairs are done, and how long the rest will take."""

    def tell(event: CircuitEvent) -> None:
        if event.type == "pair":
            left = event.seconds / event.done * (event.of - event.done)
            shown.now(f"{event.done} of {event.of} pairs, {time_left(left)}")

    return tell


def _written(found: CircuitEvaluation, path: str) -> Path:
    from sonde.results import files
    from sonde.results.circuit_curve import encoded

    return files.write(path, encoded(found, Path(path).suffix.lower()))
