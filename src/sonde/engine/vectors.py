"""Vectors that clients send or register: tables, masks, named vectors.

They are other people's numbers: sizes are refused by arithmetic before anything is decoded, and
what is not finite is refused by name, because one NaN in a vector is a grid of NaN.
"""

import base64
import binascii
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sonde.backends.base import Vector
from sonde.errors import BadVectors, UnknownVector
from sonde.schema import Hook, Mask, PatchSweepRequest, PatchVectors

ITEM_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
MAX_TABLE_BYTES = 256 * 2**20


@dataclass(frozen=True)
class VectorModule:
    """A named vector: one per (hook, layer), times a scale."""

    vectors: Mapping[tuple[Hook, int], Vector]
    scale: float = 1.0

    def at(self, name: str, hook: Hook, layer: int, width: int) -> Vector:
        """The vector of a site, of the model's width."""
        if (hook, layer) not in self.vectors:
            held = sorted(self.vectors)
            raise BadVectors(
                f"source_module {name!r} has no vector at {hook}, layer {layer}; it has {held}"
            )
        values = np.asarray(self.vectors[hook, layer] * self.scale, dtype=np.float32)
        if values.shape != (width,) or not np.isfinite(values).all():
            raise BadVectors(
                f"source_module {name!r} at {hook}, layer {layer} is not {width} finite numbers"
            )
        return values


NamedVectors = Mapping[str, VectorModule]


def unpack(
    table: PatchVectors, *, where: str = "patch[0]", field: str = "patch_vectors"
) -> NDArray[np.float32]:
    """The table as [rows, width] in float32; refused by arithmetic before anything is decoded.

    `where` and `field` begin the message of a refusal: a sweep is one patch, a completion has a
    list of them.
    """
    if len(table.shape) != 2 or min(table.shape, default=0) < 1:
        raise BadVectors(f"{where}: {field}.shape {table.shape} is not [rows, width]")
    size = math.prod(table.shape) * ITEM_BYTES[table.dtype]
    if size > MAX_TABLE_BYTES:
        raise BadVectors(f"{where}: {field} of {size} bytes; at most {MAX_TABLE_BYTES}")
    if len(table.data) != 4 * math.ceil(size / 3):
        raise BadVectors(
            f"{where}: {field}.data has {len(table.data)} base64 characters; "
            f"{table.shape} of {table.dtype} takes {4 * math.ceil(size / 3)}"
        )
    try:
        raw = base64.b64decode(table.data, validate=True)
    except binascii.Error as error:
        raise BadVectors(f"{where}: {field}.data is not base64: {error}") from error
    if len(raw) != size:
        raise BadVectors(f"{where}: {field}.data holds {len(raw)} bytes, not {size}")
    values = _decode(raw, table.dtype).reshape(table.shape)
    if not np.isfinite(values).all():
        raise BadVectors(f"{where}: {field} hold NaN or infinity")
    return values


def _decode(raw: bytes, dtype: str) -> NDArray[np.float32]:
    if dtype == "bfloat16":
        return (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(raw, "<f4" if dtype == "float32" else "<f2").astype(np.float32)


def row(
    table: NDArray[np.float32] | None, index: int, field: str, *, where: str = "patch[0]"
) -> Vector:
    """One row of the table."""
    if table is None:
        raise BadVectors(f"{field} requires patch_vectors")
    if not 0 <= index < len(table):
        raise BadVectors(f"{where}: {field} row {index} is out of range [0, {len(table)})")
    return np.asarray(table[index], dtype=np.float32)


def mask_vector(
    mask: Mask, table: NDArray[np.float32] | None, width: int, *, where: str = "patch[0]"
) -> Vector:
    """The mask as one weight per dimension."""
    if (mask.indices is None) == (mask.inline is None):
        raise BadVectors(f"{where}: mask takes exactly one of 'indices' and 'inline'")
    if mask.indices is None:
        assert mask.inline is not None
        return row(table, mask.inline, "mask.inline", where=where)
    bad = [i for i in mask.indices if not 0 <= i < width]
    if bad:
        raise BadVectors(f"{where}: mask index {bad[0]} is out of range [0, {width})")
    out = np.zeros(width, dtype=np.float32)
    out[mask.indices] = 1.0
    return out


def check_vectors(request: PatchSweepRequest, modules: NamedVectors, width: int) -> None:
    """Contract checks 12 to 15, in their order."""
    name = request.source_module
    if name is not None and name != "zeros" and name not in modules:
        raise UnknownVector(name, [*modules, "zeros"])
    if request.source_inline is not None and request.patch_vectors is None:
        raise BadVectors("source_inline requires patch_vectors")
    table = None if request.patch_vectors is None else unpack(request.patch_vectors)
    if request.source_inline is not None:
        row(table, request.source_inline, "source_inline")
    if request.mask is not None:
        mask_vector(request.mask, table, width)
    used = request.source_inline is not None or (
        request.mask is not None and request.mask.inline is not None
    )
    if table is not None and used and table.shape[1] != width:
        raise BadVectors(f"patch_vectors width {table.shape[1]} != hook width {width}")
