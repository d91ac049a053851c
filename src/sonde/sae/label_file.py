"""Labels of features, in one JSON file beside the dictionary that they speak of. Imports no torch.

A label belongs to the weights that it was made for, by their hash: where other weights lie now, the
file is refused, since the same number means something else there.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from sonde.errors import BadRequest
from sonde.runs.atomic import write_json
from sonde.runs.reader import read_object
from sonde.schema.autoencoder import CONFIG
from sonde.schema.feature import Label, LabelFile

LABELS: Final = "labels.json"
MOST_BYTES: Final = 2**28
"""A million features with labels of ordinary length."""


def read_labels(folder: Path, sha256: str | None = None) -> dict[int, Label]:
    """The labels beside a dictionary, by feature; none where there is no such file.

    `sha256` is that of the weights, where it is known; without it, what their configuration says.
    """
    path = folder / LABELS
    if not path.exists():
        return {}
    if (size := path.stat().st_size) > MOST_BYTES:
        raise BadRequest(f"{path.name} is {size:,} bytes, more than {MOST_BYTES:,}; remove it")
    try:
        held = LabelFile.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        first = str(error).splitlines()[0]
        raise BadRequest(
            f"{path} holds no labels ({first}); write them with `sonde sae label`"
        ) from error
    now = sha256 or hash_beside(folder)
    if held.sha256 and now and held.sha256 != now:
        raise BadRequest(
            f"{path} is of weights {held.sha256[:12]}…, and {now[:12]}… lie beside it: labels of "
            "other features. Remove that file, or put back its weights"
        )
    return dict(held.labels)


def write_labels(folder: Path, labels: Mapping[int, Label], sha256: str | None) -> Path:
    """Replace the labels beside a dictionary, whole or not at all. -> the file"""
    ordered = {feature: labels[feature] for feature in sorted(labels)}
    held = LabelFile(sha256=sha256, labels=ordered)
    path = folder / LABELS
    write_json(path, held.model_dump(mode="json"))
    return path


def hash_beside(folder: Path) -> str | None:
    """The hash of a dictionary's weights, as the file beside them has it; None where none does."""
    config = read_object(folder / CONFIG) or {}
    return str(config["sha256"]) if "sha256" in config else None
