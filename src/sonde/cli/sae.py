"""`sonde sae`: train sparse autoencoders, judge them, and look at what their features mean.

Four commands on one kind of thing. What an autoencoder's files leave open is asked for with the
same options wherever one is read; none of it is guessed.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sonde.cli import parse
from sonde.cli.loading import load_model, placing, torch_backend
from sonde.cli.options import as_json, number, seeded
from sonde.cli.progress import progress
from sonde.cli.sae_describe import describe_command
from sonde.cli.sae_eval import eval_command
from sonde.cli.sae_export import export_command
from sonde.cli.sae_label import label_command
from sonde.cli.sae_options import (
    context_option,
    layer_of,
    load,
    model_option,
    text_option,
    told,
)
from sonde.cli.sae_view import facts, in_words
from sonde.cli.terminal import terminal_pen
from sonde.errors import BadRequest
from sonde.sae import shipped
from sonde.schema import LAYER_HOOKS, Hook

if TYPE_CHECKING:
    from sonde.backends.torch.reading import Reader
    from sonde.sae.autoencoder import Autoencoder
    from sonde.sae.formats.sonde import Bits

EXAMPLES = """\b
Examples:
  sonde sae feature 15 13533
  sonde sae eval
  sonde sae eval path/to/sae --each --beside shipped
  sonde sae train --layers 7 --generate 200000 --tokens 1000000 --out saes
"""

PROBED_CONTEXTS = 4


@click.group("sae", epilog=EXAMPLES, short_help="Train, judge and read sparse autoencoders.")
def command() -> None:
    """Train sparse autoencoders, judge them, and look at what their features mean.

    Where an autoencoder is asked for, give a path, in any format Sonde reads, or the number of a
    layer for one that comes with Sonde.
    """


@command.command("train", short_help="Train autoencoders on text or on what the model writes.")
@model_option
@click.option(
    "--layers", required=True, metavar="LAYERS", help="0,7,14, or a range as in Python: 0:30:2."
)
@click.option(
    "--hook",
    type=click.Choice(LAYER_HOOKS),
    default="post_block",
    help="Where to read. Default: post_block.",
)
@click.option(
    "--hook-out",
    type=click.Choice(LAYER_HOOKS),
    help="Train transcoders, which predict this hook of the same layer: mlp_in to mlp_out.",
)
@text_option
@number("--generate", "Let the model write so many tokens, beside --text.", least=0, default=0)
@context_option
@number("--features", "How many features.", default=4096)
@number("--k", "Active features a token.", default=64)
@click.option(
    "--kind",
    type=click.Choice(["topk", "batchtopk", "jumprelu"]),
    default="topk",
    help="How features are chosen: k of each token, k on average, by thresholds. Default: topk.",
)
@click.option(
    "--cap",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="With batchtopk: on what share of tokens a feature may be active.",
)
@click.option(
    "--nested",
    metavar="NUMBERS",
    help="A Matryoshka: how many first features must rebuild by themselves, as in 64,512.",
)
@number("--tokens", "Activations to learn from.", default=20_000_000)
@number("--batch", "Activations in a step.", default=4096)
@number("--buffer", "Activations shuffled at once.", default=262_144)
@click.option(
    "--learning-rate",
    type=click.FloatRange(0, min_open=True),
    default=5e-4,
    metavar="NUMBER",
    help="Of Adam, at its highest. Default: 0.0005.",
)
@seeded
@click.option(
    "--bits",
    default="16",
    metavar="NUMBERS",
    help="Of weights, as they are written: 16, 4 to 8, or as in 7,6 for encoder and decoder. "
    "Default: 16.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIRECTORY",
    help="Where the folders go.",
)
@placing
def train_command(
    name: str,
    layers: str,
    hook: Hook,
    hook_out: Hook | None,
    nested: str | None,
    text: Path | None,
    generate: int,
    context: int,
    bits: str,
    out: Path,
    dtype: str | None,
    device: str | None,
    **recipe: Any,
) -> None:
    """Train one autoencoder a layer, or transcoder, and write each into a folder of its own.

    Training that was interrupted goes on when the same command is given again. When it is done,
    each folder has the weights, a card with what they reach on held-out text, and a description of
    every feature.
    """
    if text is None and not generate:
        raise BadRequest("nothing to train on: give --text, or --generate a number of tokens")
    from sonde.sae.corpus import documents_of_kinds, sources
    from sonde.sae.make import Text, make, prepare
    from sonde.sae.train import Recipe, Sites

    texts, from_where = (documents_of_kinds(text), sources(text)) if text else ([], [])
    few = _bits(bits)
    recipe["d_sae"] = recipe.pop("features")
    recipe["nested"] = tuple(parse.numbers("--nested", nested, "write 64,512")) if nested else ()
    with progress(f"loading {name}") as shown:
        model = load_model(name, shown, dtype=dtype, device=device)
        about = model.describe()
        chosen = parse.layers_of(parse.layers(layers), about.n_layers)
        numbered = chosen if isinstance(chosen, list) else [*range(*_bounds(chosen))]
        sites = Sites(hook, tuple(sorted(set(numbered))), hook_out)
        reader = torch_backend(model).reader
        for layer in sites.layers:
            reader.check_site(hook, layer)
            reader.check_site(hook_out or hook, layer)
        wanted = Text(
            [each.text for each in texts], [each.kind for each in texts],
            [each.quoted for each in texts], generate, context, recipe["seed"], from_where,
        )  # fmt: skip
        material = prepare(reader, wanted, shown.say)
        folders = make(
            reader, about.name, material, sites, Recipe(**recipe), out,
            notes={
                "made": {"device": _device_name(about.device), **_versions()},
                "command": "sonde " + " ".join(sys.argv[1:]),
                "weights": about.weights,
            },
            say=shown.say, report=lambda now: shown.say(in_words(now)), bits=few,
        )  # fmt: skip
    for folder in folders.values():
        click.echo(folder)


command.add_command(eval_command)
command.add_command(label_command)
command.add_command(describe_command)
command.add_command(export_command)


@command.command("show", short_help="What a file holds: format, shapes, where it reads.")
@click.argument("autoencoder")
@told
@click.option("--probe", "probed", is_flag=True, help="Try it on the model, on a little text.")
@model_option
@text_option
@placing
@as_json
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
    held = load(shipped.find(autoencoder), **said)
    said_of_it = facts(held)
    if probed:
        with progress(f"loading {name}") as shown:
            reader = torch_backend(load_model(name, shown, dtype=dtype, device=device)).reader
            said_of_it["probe"] = _probe(reader, held, text or shipped.JUDGED, shown.say)
    if as_json:
        click.echo(json.dumps(said_of_it, indent=1, allow_nan=False))
        return
    from sonde.results.tokens import visible

    for fact, value in said_of_it.items():
        title = fact.replace("_", " ")
        if isinstance(value, dict):
            click.echo(f"{title}\n" + "\n".join(f"  {key:<22}{value[key]}" for key in value))
        elif value is not None:
            click.echo(f"{title:<24}{visible(str(value))}")


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
    layer = layer_of(held)
    read, _ = gather(reader, contexts, hook_of(held), [layer])[layer]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", PoorFit)
        health = probe(held.to(reader.device), read)
    for warning in found:
        say(f"warning: {warning.message}")
    return asdict(health)


@command.command("feature", short_help="What a feature means: snippets and promoted tokens.")
@click.argument("autoencoder")
@click.argument("feature", type=int)
@as_json
def feature_command(autoencoder: str, feature: int, as_json: bool) -> None:
    """Where FEATURE of AUTOENCODER is most active, and which tokens it promotes."""
    from sonde.results.feature import render_feature
    from sonde.results.tokens import visible
    from sonde.sae.feature_file import FEATURES, read_feature

    folder = shipped.find(autoencoder)
    found = read_feature(folder / FEATURES, feature)
    if as_json:
        click.echo(found.model_dump_json(indent=1))
        return
    where = f"layer {autoencoder}" if autoencoder.isdecimal() else visible(folder.name)
    width = shutil.get_terminal_size().columns
    title = f"{shipped.MODEL}, {where}" if autoencoder.isdecimal() else where
    click.echo(render_feature(found, title=title, pen=terminal_pen(), width=width))


def _bounds(chosen: Any) -> tuple[int, int, int]:
    return chosen.start, chosen.stop, chosen.step


def _bits(text: str) -> Bits | None:
    """What --bits asks for; None for half precision."""
    from sonde.sae.formats.sonde import BITS, Bits

    form = "write 16, a number from 4 to 8, or two as in 7,6"
    found = parse.numbers("--bits", text, form)
    if found == [16]:
        return None
    if len(found) > 2 or not all(each in BITS for each in found):
        raise BadRequest(f"--bits {text} cannot be read; {form}")
    return Bits(found[0], found[-1])


def _device_name(device: str) -> str:
    if not device.startswith("cuda"):
        return device
    import torch

    return str(torch.cuda.get_device_name(device))


def _versions() -> dict[str, str]:
    from sonde.results.provenance import versions

    return versions()
