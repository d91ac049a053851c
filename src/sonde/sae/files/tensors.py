"""A safetensors file, its header believed only after it has been added up.

1. **Measure** the header against the file, before a byte of it is read.
2. **Parse**   names, types, shapes and offsets; a name given twice has no meaning.
3. **Add up**  offsets: end to end, to the last byte of the file, each as long as its shape.
4. **Map**     the tensors. Nothing that is allocated after this is larger than the file.
"""

import json
import math
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NoReturn

from safetensors import SafetensorError, safe_open
from torch import Tensor

from sonde.errors import BadWeights, DamagedFile, UnsafeFile

MAX_HEADER: Final = 2**24
"""Tens of thousands of tensors. Dictionaries have less than twenty."""

SIZES: Final = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2}
SIZES_OF_OTHERS: Final = {"I8": 1, "U8": 1, "BOOL": 1, "U16": 2, "U32": 4, "U64": 8}


def read_tensors(path: Path) -> dict[str, Tensor]:
    """All tensors of a safetensors file by name, on the CPU and mapped, not copied."""
    check_header(path)
    try:
        with safe_open(path, framework="pt") as opened:
            return {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise DamagedFile(f"{path}: {error}; fetch the file again") from error


def check_header(path: Path) -> dict[str, tuple[int, ...]]:
    """Shapes by name, or an error that says where the file contradicts itself."""
    size = path.stat().st_size
    with path.open("rb") as file:
        start, first = file.read(8), file.read(1)
        if first != b"{":  # of a header, whose length may begin with the bytes that a pickle does
            _refuse_pickle(path, start)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else None
        if length is None or length > min(size - 8, MAX_HEADER):
            _damaged(path, f"its header claims {length:,} bytes" if length else "it has no header")
        entries = _parse(path, first + file.read(length - 1) if length else b"")
    spans = sorted(_span(path, name, entry) for name, entry in entries.items())
    edges = [(0, 0), *spans, (size - 8 - length, size - 8 - length)]
    for (_, end), (begin, _) in pairwise(edges):
        if end != begin:
            _damaged(
                path, f"bytes {end:,} to {begin:,} overlap, are missing or belong to no tensor"
            )
    return {name: tuple(entry["shape"]) for name, entry in entries.items()}


def _parse(path: Path, header: bytes) -> dict[str, Any]:
    try:
        entries = json.loads(header, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        _damaged(path, f"its header is not JSON ({error})")
    if not isinstance(entries, dict):
        _damaged(path, "its header is not a JSON object")
    entries.pop("__metadata__", None)
    return entries


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(n for n in names if names.count(n) > 1)!r} is in it twice")
    return found


def _span(path: Path, name: str, entry: Any) -> tuple[int, int]:
    """Where a tensor's bytes are, checked against its shape and type."""
    try:
        kind, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
    except (KeyError, TypeError, ValueError):
        _damaged(path, f"{name!r} has no type, shape and offsets")
    numbers = [*shape, begin, end] if isinstance(shape, list) else [None]
    if any(type(number) is not int or number < 0 for number in numbers):
        _damaged(path, f"{name!r} has shape {shape!r} and offsets {[begin, end]!r}")
    each = (SIZES | SIZES_OF_OTHERS).get(kind)
    if each is None:
        raise BadWeights(
            f"{path}: {name!r} is {kind}; expected one of {sorted(SIZES)}. Convert it to F32 first"
        )
    if end - begin != each * math.prod(shape):
        _damaged(path, f"{name!r} is {kind} {shape} in {end - begin:,} bytes")
    return begin, end


def _refuse_pickle(path: Path, start: bytes) -> None:
    if start[:2] == b"PK" or start[:1] == b"\x80":
        raise UnsafeFile(
            f"{path} is called safetensors but is a torch pickle, which can run code when opened. "
            "Give it its own ending (.pt) to have it read with weights_only, or save it again with "
            "safetensors.torch.save_file"
        )


def _damaged(path: Path, what: str) -> NoReturn:
    raise DamagedFile(f"{path} is not a whole safetensors file: {what}; fetch it again")
