"""`sonde sae eval`: judge dictionaries as the field does, one set beside another."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sonde.cli.loading import load_model, placing, torch_backend
from sonde.cli.options import as_json, number
from sonde.cli.progress import progress
from sonde.cli.sae_options import context_option, layer_of, load, model_option, text_option, told
from sonde.cli.sae_table import table
from sonde.errors import BadRequest
from sonde.sae import shipped

if TYPE_CHECKING:
    from sonde.sae.autoencoder import Autoencoder
    from sonde.sae.judgement import Judgement

BESIDE = " beside"
"""Ends the name of a column of the other set."""


@click.command("eval", short_help="Judge autoencoders on text they were not trained on.")
@click.argument("autoencoders", nargs=-1, metavar="[AUTOENCODER]...")
@click.option(
    "--beside",
    metavar="SET",
    help="Another set, judged at the same layers: a folder of them, or `shipped`.",
)
@model_option
@text_option
@context_option
@number("--most", "Read at most so many contexts of each file. Default: all.")
@click.option("--each", is_flag=True, help="Also every file of the text: one kind a file.")
@click.option(
    "--concepts",
    is_flag=True,
    help="Also what it makes of first letters, names, tenses and the like: a minute a layer.",
)
@click.option(
    "--save",
    multiple=True,
    metavar="FILE",
    help="Save a picture or numbers: .png, .svg or .json. Can be repeated.",
)
@told
@placing
@as_json
def eval_command(
    autoencoders: Sequence[str],
    beside: str | None,
    name: str,
    text: Path | None,
    context: int,
    most: int | None,
    each: bool,
    concepts: bool,
    save: Sequence[str],
    dtype: str | None,
    device: str | None,
    as_json: bool,
    **said: Any,
) -> None:
    """What autoencoders keep, how often their features are active, and what they make of concepts.

    An AUTOENCODER may be a folder of several, as `sonde sae train` writes it. Without one, all that
    come with Sonde; without --text, on the held-out text that comes with them. With --each, also on
    every file of the text by itself; without --text, on four kinds of text from nothing they were
    trained on.
    """
    from sonde.results import files
    from sonde.sae.judgement import judge

    for path in save:
        if files.suffix_of(path) not in (".png", ".svg", ".json"):
            raise BadRequest(f"cannot save to {path!r}: expected .png, .svg or .json")
        files.check(path)
    columns = _columns(autoencoders, beside, said)
    with progress(f"loading {name}") as shown:
        reader = torch_backend(load_model(name, shown, dtype=dtype, device=device)).reader
        given = [(layer_of(held), held.to(reader.device)) for held in columns.values()]
        kinds = _kinds(reader, text, context, most, each=each)
        judged = judge(reader, given, kinds, concepts=concepts, report=shown.now)
    found = dict(zip(columns, judged, strict=True))
    plain = as_plain(found)
    for path in save:
        click.echo(f"saved {files.write(path, _content(path, plain))}", err=True)
    click.echo(json.dumps(plain, indent=1, allow_nan=False) if as_json else table([*found.items()]))


def _columns(
    named: Sequence[str], beside: str | None, said: Mapping[str, Any]
) -> dict[str, Autoencoder]:
    """Dictionaries by what their column is called: those named, each with the one beside it."""
    own = _by_name([path for name in named or ["shipped"] for path in _folders(name)], said)
    if beside is None:
        return own
    others = {layer_of(held): held for held in (load(path) for path in _folders(beside))}
    if not (set(others) & {layer_of(held) for held in own.values()}):
        raise BadRequest(
            f"{beside} has layers {sorted(others)}, and none of them is judged: "
            f"{sorted({layer_of(held) for held in own.values()})}"
        )
    columns: dict[str, Autoencoder] = {}
    for name, held in own.items():
        columns[name] = held
        if (layer := layer_of(held)) in others:
            columns[f"{name}{BESIDE}"] = others[layer]
    return columns


def _by_name(paths: Sequence[Path], said: Mapping[str, Any]) -> dict[str, Autoencoder]:
    """By layer; where two have the same, by folder too."""
    loaded = [(path, load(path, **said)) for path in paths]
    layers = [layer_of(held) for _, held in loaded]
    columns: dict[str, Autoencoder] = {}
    for (path, held), layer in zip(loaded, layers, strict=True):
        name = str(layer) if layers.count(layer) == 1 else f"{layer} {path.parent.name}/{path.name}"
        if name in columns:
            raise BadRequest(f"{path} is named twice, or beside one of the same name")
        columns[name] = held
    return columns


def _folders(name: str) -> list[Path]:
    """One dictionary, or all in a folder of them."""
    if name == "shipped":
        return [*shipped.layers().values()]
    path = shipped.find(name)
    inside = {
        int(each.name.removeprefix("layer_")): each
        for each in path.glob("layer_*")
        if each.name.removeprefix("layer_").isdecimal()
    }
    return [inside[layer] for layer in sorted(inside)] or [path]


def _kinds(
    reader: Any, text: Path | None, context: int, most: int | None, *, each: bool
) -> dict[str, Any]:
    """The text as contexts, by kind: of a file its name, where kinds are asked for."""
    from sonde.sae.corpus import documents, from_text

    source = text or shipped.JUDGED
    files = sorted(source.rglob("*.txt")) if each and source.is_dir() else []
    texts = {file.stem: documents(file) for file in files} or {source.stem: documents(source)}
    if len(texts) < len(files):
        raise BadRequest(f"two files under {source} have the same name, and kinds are named by it")
    cut = {kind: from_text(reader, some, context) for kind, some in texts.items()}
    return {kind: some.take(slice(most)) if most else some for kind, some in cut.items()}


def as_plain(found: Mapping[str, Judgement]) -> dict[str, Any]:
    """By column; kinds under `each`, the other set under `beside`."""
    plain: dict[str, Any] = {}
    for name, judged in found.items():
        other = name.endswith(BESIDE)
        target = plain.setdefault("beside", {}) if other else plain
        column = name.removesuffix(BESIDE)
        target[column] = judged.plain()
        kinds = {kind: held.plain() for kind, held in judged.kinds.items() if kind}
        for kind, held in kinds.items() if len(kinds) > 1 else ():
            target.setdefault("each", {}).setdefault(kind, {})[column] = held
    return plain


def _content(path: str, plain: Mapping[str, Any]) -> bytes:
    from sonde.results.dictionary_plot import image

    if path.endswith(".json"):
        return (json.dumps(plain, indent=1, allow_nan=False) + "\n").encode()
    return image(plain, path.rpartition(".")[2])
