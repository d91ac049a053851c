"""Which writes can change what is read: the rest need no work on any backend.

A write changes its own position at once. Other positions see it through attention, later ones only,
and only in layers after it. So a write after the last read changes nothing that is told, and so
does one at another position than those that are read, when no attention comes after it.
"""

from collections.abc import Collection, Iterable

from sonde.backends.base import Readout
from sonde.backends.spots import Spot
from sonde.schema import HOOK_TABLE, Hook


def seen_from(hook: Hook | None, layer: int, *, local: bool = True) -> int:
    """The first layer whose attention shows later positions what was written.

    `hook` None is what enters the layer. `local` says that positions do not see one another
    between a layer's attention and its end, as the recurrent MLPs of some models do.
    """
    if hook is None:
        return layer
    spec = HOOK_TABLE[hook]
    if spec.enters is not None:
        return layer + spec.enters
    return layer + (local and spec.reach == "position")


def reaches(some: Iterable[Spot], reads: Collection[int], n_layers: int) -> bool:
    """Whether a write can change what is told after the positions `reads`."""
    last = max(reads)
    return any(
        spot.position in reads
        or (spot.position < last and seen_from(spot.hook, spot.layer) < n_layers)
        for spot in some
    )


def positions_read(readout: Readout, n_tokens: int) -> tuple[int, ...]:
    """The positions after which something is told, lowest first."""
    return tuple(sorted({column.position % n_tokens for column in readout.columns}))
