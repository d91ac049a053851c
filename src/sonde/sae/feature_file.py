"""The features of one autoencoder in a compact file: one line of JSON each, compressed together.

The first line holds the text of all snippets, once; a feature's line says where in it its own are.
Spelled out they were three quarters of the bytes. Files of earlier versions, which spell them out
and begin with a feature, are read as well.

Read without torch, so that a feature can be looked up in a moment. Sixteen thousand features are
thirty megabytes of JSON; all of it is unpacked to find one line, in a third of a second. The files
that were asked last are kept unpacked: a server is asked for the features of a run again and again.

Labels are not in it, because they come later and from others: they lie in `label_file` and are put
to the features when those are read.
"""

import lzma
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import ValidationError

from sonde.errors import BadRequest
from sonde.sae.label_file import read_labels
from sonde.sae.shingles import laid
from sonde.schema.base import Whole, Wire
from sonde.schema.feature import Feature, Part, Snippet

FEATURES: Final = "features.jsonl.xz"
"""Beside the weights."""
PACKED: Final = [{"id": lzma.FILTER_LZMA2, "preset": 9, "lc": 4, "pb": 0}]
"""How it is compressed: as text, whose bytes are not aligned to anything."""
TEXT: Final = b'{"text":'
"""How the first line begins where snippets are not spelled out."""


KEPT: Final = 4
"""So many files stay unpacked, of some forty megabytes each: the layers of one run."""


class Text(Wire):
    """The first line: the tokens that snippets are cut from."""

    text: list[str]


class Cuts(Wire):
    """Where a feature's snippets are in the text: a column for each field of a snippet."""

    at: list[Whole]
    heat: list[str]
    """As many digits as the snippet has tokens."""
    value: list[float]
    part: list[Part]


class Line(Wire):
    """A feature without its snippets, and where those are."""

    described: Feature
    cuts: Cuts


def write_features(path: Path, features: Iterable[Feature]) -> None:
    """Write all features, in order, whole or not at all."""
    beside = path.with_name(f".{path.name}")
    lines = "".join(f"{line}\n" for line in _written(list(features)))
    beside.write_bytes(lzma.compress(lines.encode(), filters=PACKED))
    beside.replace(path)


def _written(features: list[Feature]) -> Iterator[str]:
    shingles = laid(snippet.tokens for feature in features for snippet in feature.snippets)
    yield Text(text=shingles.row).model_dump_json()
    for feature in features:
        cuts = Cuts(
            at=[shingles.starts[tuple(each.tokens)] for each in feature.snippets],
            heat=[each.heat for each in feature.snippets],
            value=[each.value for each in feature.snippets],
            part=[each.part for each in feature.snippets],
        )
        line = Line(described=feature.model_copy(update={"snippets": []}), cuts=cuts)
        yield line.model_dump_json(exclude={"described": {"label"}})


def read_feature(path: Path, feature: int) -> Feature:
    """One feature by its number."""
    return read_some(path, [feature])[0]


def read_some(path: Path, features: Iterable[int]) -> list[Feature]:
    """Some features by their numbers, for the price of one, with the labels they have."""
    held, labels = _unpacked(path), read_labels(path.parent)
    found = [_feature(path, held.lines, held.text, feature) for feature in features]
    return [
        each.model_copy(update={"label": labels[each.feature]}) if each.feature in labels else each
        for each in found
    ]


class _Unpacked(NamedTuple):
    """A whole file."""

    text: Sequence[str] | None
    """What snippets are cut from; None where they are spelled out."""
    lines: Sequence[bytes]
    """One of each feature."""


def _unpacked(path: Path) -> _Unpacked:
    """A file as it is now: one that was written since is read again."""
    try:
        now = path.stat()
    except FileNotFoundError as error:
        raise BadRequest(
            f"there is no {path.name} in {path.parent}: nobody has described these features; "
            "`sonde sae train` does so for those it trains"
        ) from error
    except OSError as error:
        raise BadRequest(f"cannot read {path}: {error}") from error
    return _read(path.absolute(), now.st_ino, now.st_mtime_ns, now.st_size)


@lru_cache(maxsize=KEPT)
def _read(path: Path, _inode: int, _changed: int, _size: int) -> _Unpacked:
    lines = _lines(path)
    text = _text(path, lines.pop(0)) if lines and lines[0].startswith(TEXT) else None
    return _Unpacked(text, lines)


def _feature(
    path: Path, lines: Sequence[bytes], text: Sequence[str] | None, feature: int
) -> Feature:
    if not 0 <= feature < len(lines):
        raise BadRequest(
            f"feature {feature} is out of range [0, {len(lines)}); "
            f"this autoencoder has {len(lines)} features"
        )
    try:
        if text is None:
            found = Feature.model_validate_json(lines[feature])
        else:
            found = _cut(Line.model_validate_json(lines[feature]), text)
    except ValueError as error:
        start = lines[feature][:60]
        raise BadRequest(f"{path} holds a line that is no feature: {start!r}") from error
    if found.feature != feature:
        raise BadRequest(f"{path} has feature {found.feature} in line {feature + 1}: it is damaged")
    return found


def _cut(line: Line, text: Sequence[str]) -> Feature:
    """The feature with its snippets; a ValueError where they do not fit the text."""
    snippets: list[Snippet] = []
    cuts = line.cuts
    for at, heat, value, part in zip(cuts.at, cuts.heat, cuts.value, cuts.part, strict=True):
        tokens = list(text[at : at + len(heat)])
        if at < 0 or len(tokens) != len(heat):
            raise ValueError(f"a snippet at {at} of {len(text)} tokens")
        snippets.append(Snippet(tokens=tokens, heat=heat, value=value, part=part))
    return line.described.model_copy(update={"snippets": snippets})


def _text(path: Path, line: bytes) -> list[str]:
    try:
        # Three quarters of a million tokens, and few different ones: each is kept once.
        return [sys.intern(token) for token in Text.model_validate_json(line).text]
    except ValidationError as error:
        raise BadRequest(f"{path}: its text cannot be read; it is damaged") from error


def _lines(path: Path) -> list[bytes]:
    try:
        return lzma.decompress(path.read_bytes()).splitlines()
    except (OSError, lzma.LZMAError) as error:
        raise BadRequest(f"cannot read {path}: {error}; it is damaged or no such file") from error
