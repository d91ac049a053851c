"""Records that no longer change, as Parquet and sorted sums, checked against the files.

A *volume* is a folder: `records.parquet`, the sums of its part, and `volume.json`, which says what
bytes of what files it was made from. It is made under another name and renamed, so a
volume that is there is whole; two processes that compact one run make the same one.

It is used only if the files still hold what it was made from. One whose files were cut or rewritten
is removed. That does not touch the run: its lines are read again.
"""

import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sonde.runs.analytics.database import quoted
from sonde.runs.analytics.parts import TYPES, Part, sum_up
from sonde.runs.analytics.reading import Mark, holds
from sonde.runs.analytics.stored import InMemory, OnDisk
from sonde.runs.analytics.tail import COLUMNS
from sonde.runs.files import Identity, LineFile

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

VOLUME_RECORDS = 2**17
ROW_GROUP = 2**13
"""Small, so that one generation is found without reading many others."""

_RECORDS, _ABOUT = "records.parquet", "volume.json"
_TABLES = ("bins", "layers", "spans")


@dataclass(frozen=True)
class Span:
    """Bytes of a file that records were read from."""

    device: int
    inode: int
    fingerprint: str
    start: int
    end: Mark

    @property
    def identity(self) -> Identity:
        """Which file it was, on this machine."""
        return self.device, self.inode


@dataclass(frozen=True)
class Volume:
    """A part that is on disk."""

    number: int
    directory: Path
    spans: tuple[Span, ...]
    withheld: int
    part: Part


def write(
    connection: "DuckDBPyConnection",
    records_from: str,
    cache: Path,
    number: int,
    spans: tuple[Span, ...],
    withheld: int,
) -> Volume:
    """Compact some records. Raises OSError, or an error of DuckDB, where the disk is full."""
    part = sum_up(connection, records_from)
    target = cache / f"{number:06d}"
    beside = cache / f".{number:06d}.{os.getpid()}"
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    try:
        connection.execute(f"""
            COPY (SELECT {COLUMNS} {records_from}) TO {quoted(beside / _RECORDS)}
            (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2, ROW_GROUP_SIZE {ROW_GROUP})
        """)
        for name in _TABLES:
            np.save(beside / f"{name}.npy", getattr(part, name), allow_pickle=False)
        assert isinstance(part.stored, InMemory)
        OnDisk(beside, TYPES).write(part.stored.arrays)
        about = {"spans": [asdict(span) for span in spans], "withheld": withheld}
        (beside / _ABOUT).write_text(json.dumps(about))
        _put(beside, target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return Volume(number, target, spans, withheld, _part(target))


def read_all(caches: Iterable[Path], files: Iterable[LineFile]) -> list[Volume]:
    """The volumes that go on from one another and that the files still hold, in order.

    The first place that has any is taken; what does not match there is removed.
    """
    by_place = {file.identity: file for file in files}
    for cache in caches:
        volumes: list[Volume] = []
        reached: dict[Identity, int] = {}
        for directory in sorted(cache.iterdir()):
            if not directory.name.isdigit():
                continue
            volume = _read(directory)
            found = None if volume is None else _follows(volume, by_place, reached)
            if volume is None or found is None:
                shutil.rmtree(directory, ignore_errors=True)
                break
            reached |= found
            volumes.append(volume)
        if volumes:
            return volumes
    return []


def located(span: Span, files: dict[Identity, LineFile]) -> LineFile | None:
    """The file a span is of: the same one, or, in a copy, one that begins with the same line."""
    here = files.get(span.identity)
    others = (file for file in files.values() if file is not here)
    for file in (*([here] if here else []), *others):
        if file.fingerprint == span.fingerprint and holds(file.descriptor, span.end):
            return file
    return None


def _follows(
    volume: Volume, files: dict[Identity, LineFile], reached: dict[Identity, int]
) -> dict[Identity, int] | None:
    """How far files are read with this volume; None if it does not go on where they were."""
    now = dict(reached)
    for span in volume.spans:
        file = located(span, files)
        if file is None or now.get(file.identity, 0) != span.start:
            return None
        now[file.identity] = span.end.offset
    return now


def _read(directory: Path) -> Volume | None:
    try:
        about = json.loads((directory / _ABOUT).read_text())
        spans = tuple(Span(**(span | {"end": Mark(**span["end"])})) for span in about["spans"])
        part = _part(directory)
        if not _sound(part, directory):
            return None
        return Volume(int(directory.name), directory, spans, int(about["withheld"]), part)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _part(directory: Path) -> Part:
    bins, layers, spans = (
        np.load(directory / f"{name}.npy", allow_pickle=False) for name in _TABLES
    )
    records_from = f"FROM read_parquet({quoted(directory / _RECORDS)})"
    return Part(records_from, bins, layers, spans, OnDisk(directory, TYPES))


def _sound(part: Part, directory: Path) -> bool:
    """Whether its long arrays are as long as its short ones say."""
    entries, rows = (int(part.spans[name].max(initial=0)) for name in ("end", "stop"))
    lengths = {name: rows if name == "rows" else entries for name in TYPES}
    sizes = {name: (directory / f"{name}.bin").stat().st_size for name in TYPES}
    return sizes == {name: lengths[name] * TYPES[name].itemsize for name in TYPES}


def _put(beside: Path, target: Path) -> None:
    """Give a finished volume its name, in place of one that did not match."""
    try:
        beside.rename(target)
    except OSError:
        shutil.rmtree(target, ignore_errors=True)
        beside.rename(target)
