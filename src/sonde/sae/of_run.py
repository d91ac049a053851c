"""Which dictionary a run was read with, as far as it is still to be found. Imports no torch.

A run names the file and its hash. What lies there now is believed only as far as the hash agrees:
the same feature number means something else in another dictionary.
"""

from pathlib import Path

from sonde.runs.layout import RunLayout
from sonde.runs.reader import run_info
from sonde.sae import shipped
from sonde.sae.feature_file import FEATURES
from sonde.sae.label_file import hash_beside
from sonde.schema.records import SAEFile


def dictionary_of(layout: RunLayout, layer: int) -> tuple[Path | None, str | None]:
    """The folder with the descriptions of a run's dictionary, or why there is none."""
    info = run_info(layout)
    if info is None:
        return None, "the run has no run.json, so it is not known which dictionary it was read with"
    file = next((sae for sae in info.saes if sae.layer_index == layer), None)
    if file is None:
        return None, f"layer {layer} of this run was read with no dictionary"
    beside, folder = Path(file.path).parent, shipped.layers().get(layer)
    if beside.is_absolute() and (beside / FEATURES).is_file() and _may_be(beside, file):
        return beside, None
    if folder is not None and file.sha256 and file.sha256 == hash_beside(folder):
        return folder, None
    return None, _why_not(beside, file)


def _why_not(beside: Path, file: SAEFile) -> str:
    """Without the folder's path: this goes into pages that are sent to others."""
    name = Path(file.path).name
    if beside.is_absolute() and not _may_be(beside, file):
        return f"{name} has changed since the run was read with it"
    return (
        f"there is no {FEATURES} beside {name}: nobody has described these features; "
        "`sonde sae train` does so for those it trains"
    )


def _may_be(folder: Path, file: SAEFile) -> bool:
    """Whether a folder holds that file still, as far as both say which it is."""
    return not file.sha256 or hash_beside(folder) in (None, file.sha256)
