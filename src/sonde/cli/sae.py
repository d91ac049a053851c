"""`sonde sae`: train sparse autoencoders, judge them, and look at what their features mean."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sonde.cli import parse
from sonde.cli.loading import load_model, placing, torch_backend
from sonde.cli.progress import progress, time_left
from sonde.errors import BadRequest
from sonde.results import numbers
from sonde.sae import shipped
from sonde.schema import HOOKS, Hook

if TYPE_CHECKING:
    from sonde.backends.torch.reading import Reader
    from sonde.sae.autoencoder import Autoencoder
    from sonde.sae.evaluate import Evaluation
    from sonde.sae.train import Progress as Trained

EXAMPLES = """\b
Examples:
  sonde sae feature 15 3201
  sonde sae eval
  sonde sae eval path/to/sae --text essays/
  sonde sae train --layers 7 --generate 200000 --tokens 1000000 --out saes
"""

as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
text_option = click.option(
    "--text", type=click.Path(path_type=Path), help="A text file, or a directory of them."
)
model_option = click.option(
    "--model", "name", default=shipped.MODEL, show_default=True, help="Which model to read."
)
PROBED_CONTEXTS = 4


@click.group("sae", epilog=EXAMPLES, short_help="Train, judge and read sparse autoencoders.")
def command() -> None:
    """Train sparse autoencoders, judge them, and look at what their features mean.

    Where an autoencoder is asked for, give a path, in any format Sonde reads, or the number of a
    layer for one that comes with Sonde.
    """


@command.command("train", short_help="Train autoencoders on text or on what the model writes.")
@model_option
@click.option("--layers", required=True, metavar="LAYERS", help="0,7,14, or a range as in Python.")
@click.option("--hook", type=click.Choice(HOOKS), default="post_block", show_default=True)
@text_option
@click.option("--generate", default=0, metavar="N", help="Let the model write so many tokens.")
@click.option("--context", default=256, show_default=True, help="Tokens in a context.")
@click.option("--features", default=4096, show_default=True, help="How many features.")
@click.option("--k", default=64, show_default=True, help="Active features a token.")
@click.option("--tokens", default=20_000_000, show_default=True, help="Activations to learn from.")
@click.option("--batch", default=4096, show_default=True, help="Activations in a step.")
@click.option("--buffer", default=262_144, show_default=True, help="Activations shuffled at once.")
@click.option("--learning-rate", default=5e-4, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True)
@placing
def train_command(
    name: str,
    layers: str,
    hook: Hook,
    text: Path | None,
    generate: int,
    context: int,
    out: Path,
    dtype: str | None,
    device: str | None,
    **recipe: Any,
) -> None:
    """Train one TopK autoencoder a layer, and write each into a folder of its own under --out.

    Training that was interrupted goes on when the same command is given again. When it is done,
    each folder has the weights, a card with what they reach on held-out text, and a description of
    every feature.
    """
    if text is None and not generate:
        raise BadRequest("nothing to train on: give --text, or --generate a number of tokens")
    from sonde.sae.corpus import documents, sources
    from sonde.sae.make import Text, make, prepare
    from sonde.sae.train import Recipe, Site

    texts, from_where = (documents(text), sources(text)) if text else ([], [])
    recipe["d_sae"] = recipe.pop("features")
    with progress(f"loading {name}") as shown:
        model = load_model(name, shown, dtype=dtype, device=device)
        about = model.describe()
        chosen = parse.layers_of(parse.layers(layers), about.n_layers)
        numbered = chosen if isinstance(chosen, list) else [*range(*_bounds(chosen))]
        site = Site(hook, tuple(sorted(set(numbered))))
        reader = torch_backend(model).reader
        for layer in site.layers:
            reader.check_site(hook, layer)
        wanted = Text(texts, generate, context, recipe["seed"], from_where)
        material = prepare(reader, wanted, shown.say)
        folders = make(
            reader, about.name, material, site, Recipe(**recipe), out,
            notes={
                "made": {"device": _device_name(about.device), **_versions()},
                "command": "sonde " + " ".join(sys.argv[1:]),
                "weights": about.weights,
            },
            say=shown.say, report=lambda now: shown.say(in_words(now)),
        )  # fmt: skip
    for folder in folders.values():
        click.echo(folder)


@command.command("eval", short_help="Judge autoencoders on text they were not trained on.")
@click.argument("autoencoders", nargs=-1, metavar="[AUTOENCODER]...")
@model_option
@text_option
@click.option("--context", default=256, show_default=True, help="Tokens in a context.")
@click.option("--most", default=0, metavar="N", help="Read at most so many contexts.")
@click.option("--hook", type=click.Choice(HOOKS), help="Where it reads, if its files do not say.")
@click.option("--layer", type=int, help="Of which layer, if its files do not say.")
@click.option("--k", type=int, help="Active features a token, if its files do not say.")
@placing
@as_json_option
def eval_command(
    autoencoders: Sequence[str],
    name: str,
    text: Path | None,
    context: int,
    most: int,
    dtype: str | None,
    device: str | None,
    as_json: bool,
    **said: Any,
) -> None:
    """How much of the activations, and of the model's cross-entropy, a reconstruction keeps.

    Without an AUTOENCODER, all that come with Sonde; without --text, on the held-out text that
    comes with them.
    """
    from sonde.sae.corpus import documents, from_text
    from sonde.sae.evaluate import evaluate

    paths = [shipped.find(each) for each in autoencoders] or list(shipped.layers().values())
    if not paths:
        raise BadRequest("no autoencoder to judge: give a path")
    loaded = [_load(path, **said) for path in paths]
    texts = documents(text or shipped.HELD_OUT)
    with progress(f"loading {name}") as shown:
        reader = torch_backend(load_model(name, shown, dtype=dtype, device=device)).reader
        by_layer = {_layer(each): each.to(reader.device) for each in loaded}
        contexts = from_text(reader, texts, context)
        contexts = contexts.take(slice(most)) if most else contexts
        found = evaluate(reader, by_layer, contexts, shown.now)
    if as_json:
        click.echo(json.dumps({layer: each.plain() for layer, each in found.items()}, indent=1))
    else:
        click.echo(table(found))


@command.command("show", short_help="What a file holds: format, shapes, where it reads.")
@click.argument("autoencoder")
@click.option("--hook", help="Where it reads, if its files do not say.")
@click.option("--layer", type=int, help="Of which layer, if its files do not say.")
@click.option("--k", type=int, help="Active features a token, if its files do not say.")
@click.option("--probe", "probed", is_flag=True, help="Try it on the model, on a little text.")
@model_option
@text_option
@placing
@as_json_option
def show_command(
    autoencoder: str,
    probed: bool,
    name: str,
    text: Path | None,
    dtype: str | None,
    device: str | None,
    as_json: bool,
    **said: Any,
) -> None:
    """Read an autoencoder of any format and say what it is; with --probe, whether it fits."""
    held = _load(shipped.find(autoencoder), **said)
    facts = _facts(held)
    if probed:
        with progress(f"loading {name}") as shown:
            reader = torch_backend(load_model(name, shown, dtype=dtype, device=device)).reader
            facts["probe"] = _probe(reader, held, text or shipped.HELD_OUT, shown.say)
    if as_json:
        click.echo(json.dumps(facts, indent=1))
        return
    from sonde.results.tokens import visible

    for fact, value in facts.items():
        title = fact.replace("_", " ")
        if isinstance(value, dict):
            click.echo(f"{title}\n" + "\n".join(f"  {key:<22}{value[key]}" for key in value))
        elif value is not None:
            click.echo(f"{title:<24}{visible(str(value))}")


def _facts(held: Autoencoder) -> dict[str, Any]:
    """What its files say, and how long its decoder rows are."""
    from sonde.sae.health import decoder_norms

    norms = decoder_norms(held)
    return {
        "format": held.origin.format,
        "file": held.origin.file,
        "sha256": held.origin.sha256,
        "model": held.origin.model,
        "hook": held.hook,
        "hook_out": held.hook_out,
        "layer": held.layer,
        "width": held.d_in,
        "features": held.d_sae,
        "activation": held.activation.kind,
        "k": getattr(held.activation, "k", None),
        "subtract_b_dec": held.subtract_b_dec,
        "norm_in": held.norm_in,
        "decoder_norms": [round(v, 4) for v in (norms.smallest, norms.median, norms.largest)],
        "evaluation": held.origin.notes.get("evaluation"),
    }


def _probe(
    reader: Reader, held: Autoencoder, text: Path, say: Callable[[str], None]
) -> dict[str, Any]:
    """How well it fits a little text, with a warning where it does not."""
    import warnings

    from sonde.sae.buffer import gather
    from sonde.sae.corpus import documents, from_text
    from sonde.sae.evaluate import hook_of
    from sonde.sae.probe import PoorFit, probe

    contexts = from_text(reader, documents(text), 256).take(slice(PROBED_CONTEXTS))
    layer = _layer(held)
    read = gather(reader, contexts, hook_of(held), [layer])[layer]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", PoorFit)
        health = probe(held.to(reader.device), read)
    for warning in found:
        say(f"warning: {warning.message}")
    return asdict(health)


@command.command("feature", short_help="What a feature means: snippets and promoted tokens.")
@click.argument("autoencoder")
@click.argument("feature", type=int)
@as_json_option
def feature_command(autoencoder: str, feature: int, as_json: bool) -> None:
    """Where FEATURE of AUTOENCODER is most active, and which tokens it promotes."""
    from sonde.results.feature import render_feature
    from sonde.results.pen import Pen, wants_color
    from sonde.results.tokens import visible
    from sonde.sae.feature_file import FEATURES, read_feature

    folder = shipped.find(autoencoder)
    found = read_feature(folder / FEATURES, feature)
    if as_json:
        click.echo(found.model_dump_json(indent=1))
        return
    where = f"layer {autoencoder}" if autoencoder.isdecimal() else visible(folder.name)
    truecolor = os.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit")
    pen = Pen(wants_color(sys.stdout), truecolor=truecolor)
    width = shutil.get_terminal_size().columns
    title = f"{shipped.MODEL}, {where}" if autoencoder.isdecimal() else where
    click.echo(render_feature(found, title=title, pen=pen, width=width))


def table(found: dict[int, Evaluation]) -> str:
    """One line a layer."""
    rows = [
        "layer     FVU      L0    dead  cosine  CE recovered  (from mean)  CE original → spliced"
    ]
    for layer, each in found.items():
        health, loss = each.health, each.loss
        rows.append(
            f"{layer:>5}  {numbers.fixed(health.fvu, 4):>6}  {numbers.fixed(health.l0, 1):>6}  "
            f"{_percent(health.dead):>6}  {numbers.fixed(health.cosine, 4):>6}  "
            f"{_percent(loss.recovered):>12}  {_percent(loss.recovered_from_mean):>11}  "
            f"{numbers.fixed(loss.original, 3):>11} → {numbers.fixed(loss.spliced, 3)}"
        )
    tokens = next(iter(found.values())).health.tokens
    rows.append(f"over {tokens:,} tokens; position 0 left out; recovered against zeros")
    return "\n".join(rows)


def in_words(now: Trained) -> str:
    """How far training is."""
    done = f"{now.tokens / 1e6:.1f} of {now.total / 1e6:.1f} million tokens"
    layers = "; ".join(
        f"layer {layer} FVU {each.fvu:.3f}, L0 {each.l0:.1f}, dead {_percent(each.dead)}"
        for layer, each in now.layers.items()
    )
    speed = numbers.rate(now.tokens_per_second, "tokens")
    return f"{done}, {speed}, {time_left(now.seconds_left)}: {layers}"


def _percent(share: float | None) -> str:
    return numbers.MISSING if share is None else f"{100 * share:.2f} %"


def _bounds(chosen: Any) -> tuple[int, int, int]:
    return chosen.start, chosen.stop, chosen.step


def _layer(autoencoder: Autoencoder) -> int:
    if autoencoder.layer is None:
        raise BadRequest("the autoencoder's files do not say its layer; say it with --layer")
    return autoencoder.layer


def _load(path: Path, **said: Any) -> Autoencoder:
    from sonde.sae.load import load_autoencoder

    return load_autoencoder(path, **said)


def _device_name(device: str) -> str:
    if not device.startswith("cuda"):
        return device
    import torch

    return str(torch.cuda.get_device_name(device))


def _versions() -> dict[str, str]:
    from sonde.model import versions

    return versions()
