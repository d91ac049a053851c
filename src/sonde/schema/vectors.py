"""Named vectors: registered once, then used as `source_module` by sweeps and completions."""

from typing import Annotated

from pydantic import Field, FiniteFloat

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


class RegisterVectors(Wire):
    """Give vectors a name. All of them are taken, or none."""

    name: VectorName
    """`zeros` is taken: it needs no registration."""
    vectors: list[NamedVector] = Field(min_length=1)
    """At most one for each hook and layer."""
    patch_vectors: PatchVectors | None = None
    scale: FiniteFloat = 1.0
    """What every vector is multiplied with when it is used."""
    replace: bool = False
    """Whether vectors that already have this name may go. Without it they stay: 409."""


class UnregisterVectors(Wire):
    """Forget the vectors of a name. Work that has begun with them ends with them."""

    name: VectorName


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
