"""Vectors as clients write them down: as a list, by layer, or packed by hook.

All three say the same: a hook, a layer and some numbers. Here they become that, in single
precision and with each vector's own scale in them; whether they fit the model is asked later.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sonde.backends.base import Vector
from sonde.engine.vectors import row, unpack
from sonde.errors import BadVectors
from sonde.schema import NamedVector, PackedLayers, RegisterVectors, ScaledVector
from sonde.server.errors import OpenAIError

TIERS: Final = (
    "prefill_vectors",
    "decode_vectors",
    "clamps",
    "prefill_clamps",
    "decode_clamps",
)
"""What other servers add to a model's activations by themselves. Here a vector is written where a
patch says so, and nowhere else."""
LAYER: Final = re.compile(r"-?[0-9]{1,9}", re.ASCII)


@dataclass(frozen=True, eq=False)
class VectorEntry:
    """One vector, and where in the request it is."""

    where: str
    hook: str
    layer: int
    values: Vector


def refuse_tiers(request: RegisterVectors) -> None:
    """Raise for the first field that belongs to steering and says something."""
    for tier in TIERS:
        if getattr(request, tier):
            raise OpenAIError(
                f"{tier} is not supported: named vectors are written by patches, nothing is added "
                "to other requests; leave it out",
                param=tier,
            )


def given_vectors(request: RegisterVectors) -> list[VectorEntry]:
    """The vectors of a request, whichever form it has."""
    if isinstance(request.vectors, list):
        table = None
        if request.patch_vectors is not None:
            table = unpack(request.patch_vectors, where="vectors")
        each = enumerate(request.vectors)
        return [_listed(f"vectors[{i}]", vector, table) for i, vector in each]
    if request.patch_vectors is not None:
        raise BadVectors("patch_vectors belongs to the list form of vectors; leave it out")
    found: list[VectorEntry] = []
    for hook, vectors in request.vectors.items():
        where = f"vectors.{hook[:60]}"
        if isinstance(vectors, PackedLayers):
            found += _packed(where, hook, vectors)
        elif vectors:
            found += [_of_layer(where, hook, key, value) for key, value in vectors.items()]
        else:
            raise BadVectors(f"{where} names no layer; give it one, or leave the hook out")
    return found


def _listed(where: str, vector: NamedVector, table: NDArray[np.float32] | None) -> VectorEntry:
    if (vector.values is None) == (vector.inline is None):
        raise BadVectors(f"{where}: give exactly one of 'values' and 'inline'")
    if vector.inline is not None:
        values = row(table, vector.inline, f"{where}.inline", where="vectors")
    else:
        assert vector.values is not None
        values = _single(vector.values)
    return VectorEntry(where, vector.hook, vector.layer, values)


def _of_layer(
    where: str, hook: str, key: str, value: Sequence[float] | ScaledVector
) -> VectorEntry:
    if not LAYER.fullmatch(key):
        raise BadVectors(f"{where}: {key[:60]!r} is not the number of a layer")
    there = f"{where}.{key}"
    if isinstance(value, ScaledVector):
        return VectorEntry(there, hook, int(key), _scaled(_single(value.vector), value.scale))
    return VectorEntry(there, hook, int(key), _single(value))


def _packed(where: str, hook: str, packed: PackedLayers) -> Iterator[VectorEntry]:
    table = unpack(packed, where="packed vectors", field=where)
    scales = [1.0] * len(table) if packed.scales is None else packed.scales
    for name, values in (("layer_indices", packed.layer_indices), ("scales", scales)):
        if len(values) != len(table):
            raise BadVectors(
                f"{where}: {len(values)} {name} for {len(table)} rows; give one for each row"
            )
    for i, (layer, scale) in enumerate(zip(packed.layer_indices, scales, strict=True)):
        yield VectorEntry(f"{where}, row {i}", hook, layer, _scaled(table[i], scale))


def _scaled(values: Vector, scale: float) -> Vector:
    with np.errstate(over="ignore"):  # what overflows is infinite, and refused by that
        return np.asarray(values * scale, dtype=np.float32)


def _single(values: Sequence[float]) -> Vector:
    with np.errstate(over="ignore"):
        return np.array(values, dtype=np.float64).astype(np.float32)
