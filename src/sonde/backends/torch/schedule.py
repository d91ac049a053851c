"""One chunk of cells, scheduled: which rows are where at each layer.

It depends on where the patches are, not on what is written nor on which prompt: chunks of the same
cells share it. Index tensors are made once and kept, because a captured run (see `graphs`) reads
them where they are.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from sonde.backends.torch.cells import CellPlan, Placed
from sonde.backends.torch.plan import block_size
from sonde.backends.torch.rows import index_tensor
from sonde.backends.torch.segments import Segments


def in_order(cells: Sequence[CellPlan]) -> list[CellPlan]:
    """Cells in the order in which they join the batch."""
    return sorted(cells, key=lambda cell: (cell.joins, not cell.alone))


class Schedule:
    """When the cells of a chunk join, and what is written to them at each layer."""

    def __init__(
        self, cells: Sequence[CellPlan], n_tokens: int, n_layers: int, device: torch.device
    ) -> None:
        """`cells` are in order."""
        self.cells, self.n_tokens, self.n_layers = cells, n_tokens, n_layers
        self._device = device
        self._joins = np.array([cell.joins for cell in cells])
        self.segments = Segments(
            [cell.first for cell in cells[: self.active(n_layers - 1)]],
            n_tokens,
            block=block_size(device, n_tokens),
            device=device,
        )
        self.last_block = self.segments.last_block(self.active(n_layers - 1))
        self._indices: dict[tuple[int, ...], Tensor] = {}
        self._alone: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._patches: dict[int, list[tuple[int, Placed]]] = defaultdict(list)
        self.at_entry: list[tuple[int, Placed]] = []
        """What is written to rows that enter as they are in the unpatched run, layer by layer."""
        for index, cell in enumerate(cells):
            self._alone[cell.joins - 1] += [(index, p) for p in cell.alone]
            for patch in cell.patches:
                enters = patch.inside is None and patch.layer == cell.joins < n_layers
                if enters and not cell.alone:
                    self.at_entry.append((index, patch))
                else:
                    self._patches[patch.layer].append((index, patch))
        self._entry_layers = np.array([patch.layer for _, patch in self.at_entry])

    @property
    def first_layer(self) -> int:
        """The first layer that has anything to compute; L when none has."""
        return min(min(c.joins - bool(c.alone), self.n_layers) for c in self.cells)

    def active(self, layer: int) -> int:
        """How many cells have their suffix in the batch at `layer`."""
        return int(np.searchsorted(self._joins, layer, side="right"))

    def alone(self, layer: int) -> list[tuple[int, int]]:
        """(cell, position) of the rows that are computed alone at `layer`."""
        return self._alone.get(layer, [])

    def entries(self, layer: int) -> slice:
        """Those of `at_entry` that are written at `layer`."""
        first, last = np.searchsorted(self._entry_layers, [layer, layer + 1])
        return slice(int(first), int(last))

    def entering(self, layer: int) -> list[tuple[int, Placed]]:
        """What else is written to what enters `layer`: of cells that have changed before."""
        return [(c, p) for c, p in self._patches.get(layer, []) if p.inside is None]

    def inside(self, layer: int) -> list[tuple[int, Placed]]:
        """What is written to cells inside `layer`."""
        return [(c, p) for c, p in self._patches.get(layer, []) if p.inside is not None]

    def index(self, values: Sequence[int]) -> Tensor:
        """Integers on the device; the same tensor for the same integers."""
        key = tuple(values)
        if key not in self._indices:
            self._indices[key] = index_tensor(key, self._device)
        return self._indices[key]
