"""`sonde sae describe`: say what the features of any dictionary do, on text of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sonde.cli.loading import load_model, placing, torch_backend
from sonde.cli.progress import progress
from sonde.cli.sae_options import context_option, layer_of, load, model_option, text_option, told
from sonde.errors import BadRequest
from sonde.sae import shipped


@click.command("describe", short_help="Describe every feature of an autoencoder on some text.")
@click.argument("autoencoder")
@model_option
@text_option
@context_option
@told
@placing
def describe_command(
    autoencoder: str,
    name: str,
    text: Path | None,
    context: int,
    dtype: str | None,
    device: str | None,
    **said: Any,
) -> None:
    """Find where the features of AUTOENCODER are active in --text, and which tokens they promote.

    `sonde sae train` does so for those it trains; this is for those of others, or for other text.
    Descriptions go beside the weights and replace those that are there. Kinds of text and what may
    be quoted are told as for training.
    """
    if text is None:
        raise BadRequest("nothing to describe features on: give --text, the more the better")
    from sonde.sae.corpus import documents_of_kinds
    from sonde.sae.feature_file import FEATURES, write_features
    from sonde.sae.features import describe
    from sonde.sae.make import Text, cut_for_description, described_tokens

    held = load(shipped.find(autoencoder), **said)
    layer, folder = layer_of(held), Path(held.origin.folder or autoencoder)
    texts = documents_of_kinds(text)
    with progress(f"loading {name}") as shown:
        reader = torch_backend(load_model(name, shown, dtype=dtype, device=device)).reader
        wanted = Text(
            [each.text for each in texts], [each.kind for each in texts],
            [each.quoted for each in texts], context=context,
        )  # fmt: skip
        contexts, quoted, kinds = cut_for_description(reader, wanted, described_tokens(reader))
        features = describe(
            reader, held.to(reader.device), layer, contexts, shown.say, kinds=kinds, quoted=quoted
        )
    write_features(folder / FEATURES, features)
    click.echo(folder / FEATURES)
