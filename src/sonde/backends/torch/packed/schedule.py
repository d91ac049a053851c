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

from sonde.backends.torch.packed.cells import Ints, PackedCell, PlacedWrite, Spread
from sonde.backends.torch.packed.plan import block_size
from sonde.backends.torch.packed.rows import index_tensor
from sonde.backends.torch.packed.segments import Segments


def in_order(cells: Sequence[PackedCell]) -> list[PackedCell]:
    """Cells in the order in which they join the batch."""
    # Those with rows of their own first: then at the last layer the cells that are computed at all
    # are the first ones, and their outputs a slice.
    return sorted(cells, key=lambda cell: (cell.joins, not cell.alone))


class Schedule:
    """When the cells of a chunk join, and what is written to them at each layer."""

    def __init__(
        self,
        cells: Sequence[PackedCell],
        lengths: Sequence[int],
        n_layers: int,
        device: torch.device,
    ) -> None:
        """`cells` are in order; `lengths` are those of the prompts, which lie end to end."""
        self.cells, self.n_layers = cells, n_layers
        self._device = device
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        prompts = np.array([cell.prompt for cell in cells], dtype=np.int64)
        self._base, self._n_tokens = starts[prompts], np.asarray(lengths)[prompts]
        self._joins = np.array([cell.joins for cell in cells])
        active = self.active(n_layers - 1)
        self.segments = Segments(
            [cell.first for cell in cells[:active]],
            self._n_tokens[:active],
            prefixes=self._base[:active],
            n_prefix=int(starts[-1]),
            block=block_size(device, max(lengths)),
            device=device,
        )
        self.last_blocks = self.segments.last_blocks(active)
        self._indices: dict[bytes, Tensor] = {}
        self._alone: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._patches: dict[int, list[tuple[int, PlacedWrite]]] = defaultdict(list)
        self.at_entry: list[tuple[int, PlacedWrite]] = []
        """What is written to rows that enter as they are in the unpatched run, layer by layer."""
        for index, cell in enumerate(cells):
            self._alone[cell.joins - 1] += [(index, p) for p in cell.alone]
            for patch in cell.patches:
                enters = patch.inside is None and patch.layer == cell.joins < n_layers
                if enters and not cell.alone:
                    self.at_entry.append((index, patch))
                else:
                    self._patches[patch.layer].append((index, patch))
        self.entry_rows = Spread.of(self.at_entry)
        """The same, a row for each position."""
        layers = np.array([patch.layer for _, patch in self.at_entry], dtype=np.int64)
        self.entry_layers: Ints = layers[self.entry_rows.edits]

    def last(self, cell: int) -> int:
        """The last position of a cell's prompt."""
        return int(self._n_tokens[cell]) - 1

    def trace_row(self, cell: int, position: int) -> int:
        """The row of the unpatched runs that a cell has at a position."""
        return int(self._base[cell]) + position

    def trace_rows(self, cells: Ints, positions: Ints) -> Ints:
        """The same for many."""
        rows: Ints = self._base[cells] + positions
        return rows

    def last_trace_rows(self) -> Ints:
        """The same of each cell's last position."""
        rows: Ints = self._base + self._n_tokens - 1
        return rows

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
        """Those of `entry_rows` that are written at `layer`."""
        first, last = np.searchsorted(self.entry_layers, [layer, layer + 1])
        return slice(int(first), int(last))

    def entering(self, layer: int) -> list[tuple[int, PlacedWrite]]:
        """What else is written to what enters `layer`: of cells that have changed before."""
        return [(c, p) for c, p in self._patches.get(layer, []) if p.inside is None]

    def inside(self, layer: int) -> list[tuple[int, PlacedWrite]]:
        """What is written to cells inside `layer`."""
        return [(c, p) for c, p in self._patches.get(layer, []) if p.inside is not None]

    def index(self, values: Sequence[int] | Ints) -> Tensor:
        """Integers on the device; the same tensor for the same integers."""
        array = np.asarray(values, dtype=np.int64)
        key = array.tobytes()
        if key not in self._indices:
            self._indices[key] = index_tensor(array, self._device)
        return self._indices[key]
