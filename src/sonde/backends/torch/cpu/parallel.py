"""A chunk split over the cores of a CPU, one thread each.

The usual way, all cores on every operation, makes them wait for each other after each of some sixty
operations per layer, and far longer when something else is running. Cells are independent, so each
core takes a share of them through all layers by itself. A row's bits do not depend on the number of
threads, nor on the rows beside it (see `rows`).

Patches inside layers are made by hooks on modules that all threads share, so those are put there
beforehand (see `writes`).
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from sonde.backends.torch.cpu.threads import each_by_one_thread, one_thread_each
from sonde.backends.torch.layout import LayerSites
from sonde.backends.torch.packed.cells import PackedCell
from sonde.backends.torch.packed.scoring import Run
from sonde.backends.torch.packed.writes import ports

MIN_CELLS = 16
"""Fewer cells than this per thread are not worth splitting."""


class SplitRun:
    """Several runs side by side, or one by itself; all may write inside `layers`."""

    def __init__(self, runs: Sequence[Run], layers: Sequence[LayerSites]) -> None:
        """Results come in the order of `self.cells`."""
        self._runs, self._layers = runs, layers
        self.cells = [cell for run in runs for cell in run.cells]
        patches = [patch for cell in self.cells for patch in cell.patches]
        self._hooks = {patch.inside for patch in patches if patch.inside is not None}

    def final(self) -> Tensor:
        """What is read of each cell, after the last layer: [reads, width]."""
        with ports(self._layers, self._hooks):
            if len(self._runs) == 1:
                return self._runs[0].final()
            with one_thread_each():
                return torch.cat(each_by_one_thread(_final, self._runs, len(self._runs)))


def split(
    cells: Sequence[PackedCell],
    start: Callable[[Sequence[PackedCell]], Run],
    layers: Sequence[LayerSites] = (),
) -> Run:
    """The run of some cells, shared out over the threads torch may use where that pays."""
    threads = min(torch.get_num_threads(), len(cells) // MIN_CELLS)
    hands = dealt(cells, threads) if threads > 1 else [cells]
    return SplitRun([start(hand) for hand in hands], layers)


def dealt(cells: Sequence[PackedCell], hands: int) -> list[list[PackedCell]]:
    """The cells in so many hands that cost about the same: each to the lightest, costliest first.

    A cell costs a row for each position from its first, at each layer from where it joins.
    """
    last, top = (max(getattr(cell, name) for cell in cells) + 1 for name in ("first", "joins"))
    costs = [(last - cell.first) * (top - cell.joins) for cell in cells]
    out: list[list[PackedCell]] = [[] for _ in range(hands)]
    loads = [0] * hands
    for i in sorted(range(len(cells)), key=lambda i: -costs[i]):
        hand = loads.index(min(loads))
        out[hand].append(cells[i])
        loads[hand] += costs[i]
    return out


def _final(run: Run) -> Tensor:
    return run.final()
