"""`sonde sae export`: write an autoencoder for another library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sonde.cli.sae_options import load, told
from sonde.errors import BadRequest
from sonde.sae import shipped


@click.command("export", short_help="Write an autoencoder as SAELens reads it, or in 8 bits.")
@click.argument("autoencoder")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--to",
    type=click.Choice(["saelens", "float16", "int8"]),
    default="saelens",
    help="SAELens' format, or Sonde's with weights of 16 or 8 bits. Default: saelens.",
)
@told
def export_command(autoencoder: str, folder: Path, to: str, **said: Any) -> None:
    """Write AUTOENCODER, of any format Sonde reads, into FOLDER.

    SAELens loads the folder with SAE.load_from_disk. What SAELens has no form for is refused.
    """
    if folder.is_dir() and any(folder.iterdir()):
        raise BadRequest(f"{folder} is not empty; name a new folder")
    held = load(shipped.find(autoencoder), **said)
    if to == "saelens":
        from sonde.sae.formats.saelens_export import save_saelens

        save_saelens(held, folder)
    else:
        from sonde.sae.formats.sonde import Bits, save_autoencoder

        save_autoencoder(held, folder, bits=Bits(8, 8) if to == "int8" else None)
    click.echo(folder)
