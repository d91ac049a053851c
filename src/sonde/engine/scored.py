"""The cells of one prompt scored to first order, and those of them that were run as well.

Cells are numbered through all tables, row by row. A score and an exact value are both told as the
change from the baseline in the first metric's units, so that one can stand beside the other.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.engine.prompt_results import Cell, PromptResults
from sonde.engine.setting import Graded, Setting
from sonde.engine.sites import Cells
from sonde.engine.slopes import moves
from sonde.engine.trial import run
from sonde.schema.table import TableMetric, TableVerifying
from sonde.schema.verification import Verification, VerifiedCell
from sonde.statistics.verification import FIRST, verification

Numbers = NDArray[np.int64]


class Ran(NamedTuple):
    """Cells that were run, by why."""

    first: Sequence[int]
    """Looked for."""
    drawn: Sequence[int]
    """A random sample of the others."""


class Scored:
    """All cells of one prompt, with what is known of each."""

    def __init__(self, setting: Setting, graded: Graded, cells: Cells) -> None:
        """Nothing is scored yet."""
        self.setting, self.cells = setting, cells
        self._graded = graded
        self.told = PromptResults(setting, graded[0], cells, graded[1])
        """Where values are put, and what makes the events."""
        self.exact: dict[int, list[float | None]] = {}
        """Those that were run: a value of every metric."""
        self.proof: PromptResults | None = None
        """What was run last, with its baseline and its controls."""
        self._starts = np.cumsum([0, *(panel.size for panel in cells.panels)])
        self.changes = np.full(int(self._starts[-1]), np.nan)
        """To first order; NaN where there is no cell."""

    def score(self) -> NDArray[np.float64]:
        """Score every cell from one gradient. -> the change of every metric: [cells, metrics]"""
        places = [(n, cell) for n, panel in enumerate(self.cells.panels) for cell in panel.cells()]
        rows = [self.cells.panels[panel].row(cell) for panel, cell in places]
        found = moves(self.setting, rows, self.told.metrics, self._graded)
        numbers = [int(self._starts[panel]) + cell for panel, cell in places]
        self.changes[numbers] = found[:, 0]
        out = np.full((len(self.changes), len(self.told.metrics)), np.nan)
        out[numbers] = found
        return out

    def show(self, changes: NDArray[np.float64]) -> Iterator[Cell]:
        """Take these changes for the values of the tables."""
        bases = [self.base(metric) for metric in self.told.metrics]
        for number in np.flatnonzero(~np.isnan(changes[:, 0])).tolist():
            place = self.place(number)
            both = zip(bases, changes[number].tolist(), strict=True)
            self.told.put(place, [base + change for base, change in both])
            yield place

    def run(self, numbers: Sequence[int]) -> Iterator[TableVerifying]:
        """Run some cells exactly, with baseline and controls."""
        chosen: dict[int, set[int]] = defaultdict(set)
        for number in numbers:
            panel, cell = self.place(number)
            chosen[panel].add(cell)
        only = only_cells(self.cells, chosen)
        told = PromptResults(self.setting, self._graded[0], only, self._graded[1])
        for scores in run(self.setting.backend, told.trials):
            for panel, cell in filter(None, map(told.take, scores)):
                values = [told.values[panel][metric][cell] for metric in told.metrics]
                self.exact[int(self._starts[panel]) + cell] = values
            yield TableVerifying(done=len(self.exact))
        self.proof = told

    def place(self, number: int) -> Cell:
        """Table and number in it."""
        panel = int(np.searchsorted(self._starts, number, side="right")) - 1
        return panel, number - int(self._starts[panel])

    def number(self, panel: int, at: Sequence[int]) -> int | None:
        """The number of a cell by its indices; None where there is none."""
        shape = self.cells.panels[panel].shape
        if not all(0 <= i < size for i, size in zip(at, shape, strict=True)):
            return None
        found = int(self._starts[panel]) + int(np.ravel_multi_index(tuple(at), shape))
        return None if np.isnan(self.changes[found]) else found

    def neighbours(self, number: int) -> list[int]:
        """The cells one step away along one axis."""
        panel, cell = self.place(number)
        at = self.cells.panels[panel].place(cell)
        each = [
            self.number(panel, [*at[:axis], at[axis] + step, *at[axis + 1 :]])
            for axis in range(len(at))
            for step in (-1, 1)
        ]
        return [found for found in each if found is not None]

    def base(self, metric: TableMetric) -> float:
        """The unpatched prompt, in a metric's own units."""
        value = 0.0 if metric == "recovered" else self.told.corrupt()[metric]
        assert value is not None
        return value

    def change(self, number: int) -> float:
        """How far a cell that was run is from the baseline; 0 where that is no number."""
        value = self.exact[number][0]
        return 0.0 if value is None else value - self.base(self.told.metrics[0])

    def verification(self, ran: Ran, sizes: Sequence[int] = FIRST) -> Verification:
        """What the cells that were run say of the scores, of so many of the strongest."""
        assert self.proof is not None
        request = self.setting.request
        return verification(
            [self._compared(number, sampled=False) for number in ran.first]
            + [self._compared(number, sampled=True) for number in ran.drawn],
            sizes=sizes,
            cells=int((~np.isnan(self.changes)).sum()),
            noise=self.proof.noise()[self.told.metrics[0]] or 0.0,
            gradient=request.gradient,
            steps=request.steps if request.gradient == "eap-ig" else 1,
            seed=request.seed,
        )

    def _compared(self, number: int, *, sampled: bool) -> VerifiedCell:
        panel, cell = self.place(number)
        return VerifiedCell(
            table=panel,
            at=list(self.cells.panels[panel].place(cell)),
            attributed=float(self.changes[number]),
            exact=self.change(number),
            sampled=sampled,
        )


def only_cells(cells: Cells, chosen: dict[int, set[int]]) -> Cells:
    """The same tables, of which only some cells are run."""
    panels = [
        replace(panel, absent=frozenset(range(panel.size)) - chosen.get(n, set()))
        for n, panel in enumerate(cells.panels)
    ]
    return replace(cells, panels=panels)


def strongest(changes: NDArray[np.float64]) -> Numbers:
    """Numbers of the cells, the farthest from the baseline first; of equals the first."""
    order = np.argsort(-np.abs(changes), kind="stable")
    found: Numbers = order[~np.isnan(changes[order])]
    return found


def drawn_from(left: Sequence[int] | Numbers, n: int, seed: int) -> list[int]:
    """So many of them at random, in their order; all where there are no more."""
    rng = np.random.default_rng(seed)
    return sorted(int(x) for x in rng.permutation(np.asarray(left, dtype=np.int64))[:n])
