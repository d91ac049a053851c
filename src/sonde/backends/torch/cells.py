"""One patched run, scheduled: where its patches act and when its rows join the batch.

There is one of these for every cell of a sweep, so they are plain tuples.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from sonde.backends.base import Patch
from sonde.backends.torch.rows import index_tensor
from sonde.backends.torch.writes import Writes
from sonde.schema import Hook, Site


class Placed(NamedTuple):
    """One patch where it acts: `inside` a layer at a hook, or (None) on what enters the layer."""

    layer: int
    inside: Hook | None
    position: int
    source: int
    """Index of its values in the chunk's `Sources`."""


class CellPlan(NamedTuple):
    """One patched run: its patches, and when its suffix joins the packed batch."""

    row: int
    """The caller's row."""
    patches: tuple[Placed, ...]
    first: int
    """First position of its suffix."""
    joins: int
    """The layer its suffix enters; L when only the last residual changes."""
    alone: tuple[int, ...]
    """Positions computed alone in the layer before it joins, because they change inside it."""

    @property
    def n_sources(self) -> int:
        """Vectors this cell writes; one, where memory is reckoned, if it writes none."""
        return max(1, len(self.patches))

    def token_layers(self, n_layers: int, n_tokens: int) -> int:
        """Rows times layers this cell needs."""
        return max(n_layers - self.joins, 0) * (n_tokens - self.first) + len(self.alone)


@dataclass(frozen=True)
class Sources:
    """What is written: values [n, width], weights [n, 1] or [n, width]; None replaces."""

    values: Tensor
    weight: Tensor | None

    def writes(self, rows: Sequence[int], sources: Sequence[int]) -> Writes:
        """The writes of some sources to some rows."""
        device = self.values.device
        return self.to(index_tensor(rows, device), index_tensor(sources, device))

    def to(self, rows: Tensor, sources: Tensor) -> Writes:
        """The same, of indices that are on the device already."""
        weight = None if self.weight is None else self.weight.index_select(0, sources)
        return Writes(rows, self.values.index_select(0, sources), weight)


def plan_cell(
    row: int, patches: Sequence[Placed], n_layers: int, n_tokens: int, *, local: bool = True
) -> CellPlan | None:
    """Schedule one patched run; None when no patch can reach the last position's logits.

    After attention a layer's positions do not see one another where it is `local`; the recurrent
    MLPs of some models do mix them.
    """
    last = n_tokens - 1
    live = tuple(
        [
            patch
            for patch in patches
            if patch.position == last
            or patch.layer < n_layers - (local and patch.inside is not None)
        ]
    )
    if not live:
        return None
    if len(live) == 1:  # nearly always, and there are thousands
        (only,) = live
        inside = only.inside is not None
        alone = (only.position,) if inside else ()
        return CellPlan(row, live, only.position, only.layer + inside, alone)
    entry = min(patch.layer for patch in live)
    here = [patch for patch in live if patch.layer == entry]
    first = min(patch.position for patch in live)
    if any(patch.inside is None for patch in here):
        return CellPlan(row, live, first, entry, ())
    return CellPlan(row, live, first, entry + 1, tuple(sorted({p.position for p in here})))


def place(patch: Patch | Site, source: int) -> Placed:
    """Where a patch acts: the residual leaving a layer is the one entering the next."""
    if patch.hook == "pre_attn":
        return Placed(patch.layer, None, patch.position, source)
    if patch.hook == "post_block":
        return Placed(patch.layer + 1, None, patch.position, source)
    return Placed(patch.layer, patch.hook, patch.position, source)
