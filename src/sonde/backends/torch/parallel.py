"""A chunk split over the cores of a CPU, one thread each.

The usual way, all cores on every operation, makes them wait for each other after each of some sixty
operations per layer, and far longer when something else is running. Cells are independent, so each
core takes a share of them through all layers by itself. A row's bits do not depend on the number of
threads, nor on the rows beside it (see `rows`).

Not for patches inside layers: those are made by hooks on modules that all threads share.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

from sonde.backends.torch.cells import CellPlan
from sonde.backends.torch.scoring import Run
from sonde.backends.torch.threads import one_thread_each as one_thread_each

MIN_CELLS = 16
"""Fewer cells than this per thread are not worth splitting."""


class SplitRun:
    """Several runs, side by side."""

    def __init__(self, runs: Sequence[Run]) -> None:
        """Results come in the order of `self.cells`."""
        self._runs = runs
        self.cells = [cell for run in runs for cell in run.cells]

    def final(self) -> Tensor:
        """The last position's residual after the last layer, per cell: [cells, width]."""
        with one_thread_each(), ThreadPoolExecutor(len(self._runs)) as pool:
            return torch.cat(list(pool.map(_final, self._runs)))


def split(cells: Sequence[CellPlan], start: Callable[[Sequence[CellPlan]], Run]) -> Run:
    """The run of some cells, shared out over the threads torch may use where that is possible."""
    threads = min(torch.get_num_threads(), len(cells) // MIN_CELLS)
    inside = any(patch.inside is not None for cell in cells for patch in cell.patches)
    if threads < 2 or inside:
        return start(cells)
    return SplitRun([start(hand) for hand in dealt(cells, threads)])


def dealt(cells: Sequence[CellPlan], hands: int) -> list[list[CellPlan]]:
    """The cells in so many hands that cost about the same: each to the lightest, costliest first.

    A cell costs a row for each position from its first, at each layer from where it joins.
    """
    last, top = (max(getattr(cell, name) for cell in cells) + 1 for name in ("first", "joins"))
    costs = [(last - cell.first) * (top - cell.joins) for cell in cells]
    out: list[list[CellPlan]] = [[] for _ in range(hands)]
    loads = [0] * hands
    for i in sorted(range(len(cells)), key=lambda i: -costs[i]):
        hand = loads.index(min(loads))
        out[hand].append(cells[i])
        loads[hand] += costs[i]
    return out


def _final(run: Run) -> Tensor:
    with torch.inference_mode():
        return run.final()
