"""The autoencoders that come with Sonde: for the default model, at the layers its runs look at.

Each is a folder like any other that `sonde sae train` writes, with weights, features and card, so
nothing needs to know whether one was shipped. Here is only where they lie. Imports no torch.
"""

from pathlib import Path
from typing import Final

from sonde.errors import BadRequest

MODEL: Final = "smollm2"
"""The model they belong to."""
SHIPPED: Final = Path(__file__).parent / "shipped"
JUDGED: Final = SHIPPED / MODEL / "judged"
"""Text from nothing they were trained on, one file a kind: a book, documents, code, completions."""


def layers() -> dict[int, Path]:
    """The shipped autoencoders by layer."""
    folders = (SHIPPED / MODEL).glob("layer_*")
    found = {int(folder.name.removeprefix("layer_")): folder for folder in folders}
    return dict(sorted(found.items()))


def find(name: str) -> Path:
    """Where an autoencoder is: a layer of the shipped ones, or any path."""
    if name.isdecimal():
        here = layers()
        if int(name) not in here:
            raise BadRequest(
                f"no autoencoder for layer {name} of {MODEL} comes with Sonde; there are layers "
                f"{list(here)}. For another, give a path or train one with `sonde sae train`"
            )
        return here[int(name)]
    path = Path(name)
    if not path.exists():
        raise BadRequest(
            f"there is no {name!r}: expected a path to an autoencoder, or one of the layers "
            f"{list(layers())} that come with Sonde"
        )
    return path
