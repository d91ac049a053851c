"""The features of one autoencoder in a compact file: one line of JSON each, compressed together.

Read without torch, so that a feature can be looked up in a moment. A few thousand features are a
few megabytes of JSON; all of it is read to find one line, and that takes a tenth of a second.

Labels are not in it, because they come later and from others: they lie in `label_file` and are put
to the features when those are read.
"""

import lzma
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from sonde.errors import BadRequest
from sonde.sae.label_file import read_labels
from sonde.schema.feature import Feature

FEATURES: Final = "features.jsonl.xz"
"""Beside the weights."""


def write_features(path: Path, features: Iterable[Feature]) -> None:
    """Write all features, in order, whole or not at all."""
    lines = "".join(f"{feature.model_dump_json(exclude={'label'})}\n" for feature in features)
    beside = path.with_name(f".{path.name}")
    beside.write_bytes(lzma.compress(lines.encode(), preset=9))
    beside.replace(path)


def read_feature(path: Path, feature: int) -> Feature:
    """One feature by its number."""
    return read_some(path, [feature])[0]


def read_some(path: Path, features: Iterable[int]) -> list[Feature]:
    """Some features by their numbers, for the price of one, with the labels they have."""
    lines, labels = _lines(path), read_labels(path.parent)
    found = [_feature(path, lines, feature) for feature in features]
    return [
        each.model_copy(update={"label": labels[each.feature]}) if each.feature in labels else each
        for each in found
    ]


def _feature(path: Path, lines: list[bytes], feature: int) -> Feature:
    if not 0 <= feature < len(lines):
        raise BadRequest(
            f"feature {feature} is out of range [0, {len(lines)}); "
            f"this autoencoder has {len(lines)} features"
        )
    found = _parsed(path, lines[feature])
    if found.feature != feature:
        raise BadRequest(f"{path} has feature {found.feature} in line {feature + 1}: it is damaged")
    return found


def _lines(path: Path) -> list[bytes]:
    try:
        return lzma.decompress(path.read_bytes()).splitlines()
    except FileNotFoundError as error:
        raise BadRequest(
            f"there is no {path.name} in {path.parent}: nobody has described these features; "
            "`sonde sae train` does so for those it trains"
        ) from error
    except (OSError, lzma.LZMAError) as error:
        raise BadRequest(f"cannot read {path}: {error}; it is damaged or no such file") from error


def _parsed(path: Path, line: bytes) -> Feature:
    try:
        return Feature.model_validate_json(line)
    except ValidationError as error:
        raise BadRequest(f"{path} holds a line that is no feature: {line[:60]!r}") from error
