"""Named vectors: registered once, then used as `source_module` by sweeps and completions."""

from typing import Annotated, Any

from pydantic import Discriminator, Field, FiniteFloat, Tag

from sonde.schema.base import Whole, Wire
from sonde.schema.site import Hook
from sonde.schema.source_run import NAME
from sonde.schema.sweep import PatchVectors

VectorName = Annotated[str, Field(pattern=NAME)]
"""As a source run is called."""


class NamedVector(Wire):
    """The vector of one hook and layer: written out, or a row of `patch_vectors`."""

    hook: str
    layer: Whole
    values: list[FiniteFloat] | None = None
    inline: Whole | None = None
    """Row of the request's `patch_vectors`."""


class ScaledVector(Wire):
    """The vector of one layer, and what it is multiplied with."""

    vector: list[FiniteFloat]
    scale: FiniteFloat = 1.0


class PackedLayers(PatchVectors):
    """The vectors of one hook, packed: row `i` belongs to layer `layer_indices[i]`."""

    layer_indices: list[Whole]
    scales: list[FiniteFloat] | None = None
    """What each row is multiplied with; one when left out."""


def _form(value: object) -> str:
    """Which form a hook's vectors have, by the two fields that only a packed table has."""
    packed = isinstance(value, PackedLayers) or (
        isinstance(value, dict) and "data" in value and "dtype" in value
    )
    return "packed" if packed else "by_layer"


HookVectors = Annotated[
    Annotated[PackedLayers, Tag("packed")]
    | Annotated[dict[str, list[FiniteFloat] | ScaledVector], Tag("by_layer")],
    Discriminator(_form),
]
"""The vectors of one hook: packed, or by the layer's number."""


class RegisterVectors(Wire):
    """Give vectors a name. All of them are taken, or none."""

    name: VectorName
    """`zeros` is taken: it needs no registration."""
    vectors: (
        Annotated[list[NamedVector], Field(min_length=1)]
        | Annotated[dict[str, HookVectors], Field(min_length=1)]
    )
    """A list, or an object by hook. At most one vector for each hook and layer."""
    patch_vectors: PatchVectors | None = None
    """Vectors that the list form refers to by row."""
    scale: FiniteFloat = 1.0
    """What every vector is multiplied with when it is used."""
    replace: bool = False
    """Whether vectors that already have this name may go. Without it they stay: 409."""
    model: str | None = None
    """Whose vectors; without it, the server's first model's. They go when that model goes."""

    prefill_vectors: dict[str, Any] | None = None
    """Belongs to steering; refused by name."""
    decode_vectors: dict[str, Any] | None = None
    """Belongs to steering; refused by name."""
    clamps: dict[str, Any] | None = None
    """Belongs to steering; refused by name."""
    prefill_clamps: dict[str, Any] | None = None
    """Belongs to steering; refused by name."""
    decode_clamps: dict[str, Any] | None = None
    """Belongs to steering; refused by name."""


class UnregisterVectors(Wire):
    """Forget the vectors of a name. Work that has begun with them ends with them."""

    name: VectorName
    model: str | None = None


class VectorSite(Wire):
    """Where a named vector can be written."""

    hook: Hook
    layer: int


class RegisteredVectors(Wire):
    """What is known under a name."""

    name: str
    sites: list[VectorSite]
    scale: float
    bytes: int


class VectorList(Wire):
    """All named vectors, by name."""

    modules: list[RegisteredVectors]
    used_bytes: int
    budget_bytes: int


class VectorsUnregistered(Wire):
    """A name is free again."""

    unregistered: bool
