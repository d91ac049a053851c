"""A chunk split over the cores of a CPU, one thread each.

The usual way, all cores on every operation, makes them wait for each other after each of some sixty
operations per layer, and far longer when something else is running. Cells are independent, so each
core takes a share of them through all layers by itself. A row's bits do not depend on the number of
threads, nor on the rows beside it (see `rows`).

Not for patches inside layers: those are made by hooks on modules that all threads share.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import torch
from torch import Tensor

from sonde.backends.torch.cells import CellPlan
from sonde.backends.torch.scoring import Run

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
    ordered = sorted(cells, key=lambda cell: (cell.joins, cell.first))
    return SplitRun([start(ordered[part::threads]) for part in range(threads)])


def _final(run: Run) -> Tensor:
    with torch.inference_mode():
        return run.final()


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Inside the block operations take one thread; the setting is the whole process's."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
