"""What stands at a site after a write; every backend writes this and nothing else.

set: `(1 - w)·h + w·source`, add: `h + w·source`, with w = alpha · mask. Both are exact where they
can be: weight 0 leaves the very bits, and so does adding nothing; weight 1 sets the very bits.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def written(
    current: "Tensor", source: "Tensor", weight: "Tensor | None", adds: "Tensor | None"
) -> "Tensor":
    """What stands there after a write: the source, a blend with it, or the sum."""
    set_to = source.to(current.dtype) if weight is None else blend(current, source, weight)
    if adds is None:
        return set_to
    given = added(source, weight)
    summed = (current.float() + given).to(current.dtype)
    # Adding nothing leaves the very bits, also where the sum would turn -0 into 0.
    return summed.where(given != 0, current).where(adds, set_to)


def blend(current: "Tensor", source: "Tensor", weight: "Tensor") -> "Tensor":
    """(1 − w)·current + w·source in float32; exactly `current` at 0 and `source` at 1."""
    mixed = (1 - weight) * current.float() + weight * source.float()
    exact = mixed.where(weight != 0, current.float())
    return exact.where(weight != 1, source.float()).to(current.dtype)


def added(source: "Tensor", weight: "Tensor | None") -> "Tensor":
    """What an `add` adds, in float32: nothing where the weight is 0, whatever the source is."""
    if weight is None:
        return source.float()
    return (weight * source.float()).where(weight != 0, 0.0)


def untouched(source: "Tensor", weight: "Tensor | None", adds: "Tensor | None") -> "Tensor | None":
    """Where a write leaves what is there; None when it may do so nowhere."""
    kept = None if weight is None else weight == 0
    if adds is None:
        return kept
    idle = adds & (added(source, weight) == 0)
    return idle if kept is None else kept | idle
