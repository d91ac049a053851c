"""What the commands of `sonde sae` have in common: options, and reading what was named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sonde.cli.options import number
from sonde.errors import BadRequest
from sonde.sae import shipped
from sonde.schema import LAYER_HOOKS

if TYPE_CHECKING:
    from sonde.sae.autoencoder import Autoencoder

text_option = click.option(
    "--text",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="A text file, or a directory of them.",
)
model_option = click.option(
    "--model",
    "name",
    default=shipped.MODEL,
    metavar="NAME",
    help=f"Which model to read. Default: {shipped.MODEL}.",
)
context_option = number("--context", "Tokens in a context.", default=256)


def told(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say what an autoencoder's files leave open."""
    k = number("--k", "Active features a token, if its files do not say.")
    layer = number("--layer", "Of which layer, if its files do not say.", least=0)
    hook = click.option(
        "--hook", type=click.Choice(LAYER_HOOKS), help="Where it reads, if its files do not say."
    )
    factor = click.option(
        "--factor",
        type=float,
        metavar="NUMBER",
        help="What activations are multiplied by first, if its files only say that they are.",
    )
    form = click.option(
        "--format",
        metavar="NAME",
        help="Which format it is in, where two formats share a folder.",
    )
    return hook(layer(k(factor(form(command)))))


def load(path: Path, **said: Any) -> Autoencoder:
    """The autoencoder at a path, with what was said of it."""
    from sonde.sae.load import load_autoencoder

    return load_autoencoder(path, **said)


def layer_of(autoencoder: Autoencoder) -> int:
    """Its layer, which somebody has to have said."""
    if autoencoder.layer is None:
        raise BadRequest("the autoencoder's files do not say its layer; say it with --layer")
    return autoencoder.layer
