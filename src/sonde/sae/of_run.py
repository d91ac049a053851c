"""Which dictionary a run was read with, as far as it is still to be found. Imports no torch."""

from functools import lru_cache
from pathlib import Path
from typing import Final

from sonde.runs.layout import RunLayout
from sonde.runs.reader import read_object, run_info
from sonde.sae import shipped
from sonde.sae.feature_file import FEATURES

CARD: Final = "autoencoder.json"


def dictionary_of(layout: RunLayout, layer: int) -> tuple[Path | None, str | None]:
    """The folder with the descriptions of a run's dictionary, or why there is none."""
    info = run_info(layout)
    if info is None:
        return None, "the run has no run.json, so it is not known which dictionary it was read with"
    file = next((sae for sae in info.saes if sae.layer_index == layer), None)
    if file is None:
        return None, f"layer {layer} of this run was read with no dictionary"
    beside = Path(file.path).parent
    if (beside / FEATURES).is_file():
        return beside, None
    folder = shipped.layers().get(layer)
    if folder is not None and file.sha256 and file.sha256 == _hash_of(folder):
        return folder, None
    return None, (
        f"there is no {FEATURES} beside {file.path}: nobody has described these features; "
        "`sonde sae train` does so for those it trains"
    )


@lru_cache(maxsize=64)
def _hash_of(folder: Path) -> str | None:
    """The hash of a shipped dictionary's weights, as its card has it."""
    card = read_object(folder / CARD) or {}
    return str(card["sha256"]) if "sha256" in card else None
