"""Trials: one prompt under one set of weights, and the rows that are run of it.

A sweep is a table. *Inner* axes choose the row: which writes are made in a trial. *Outer* axes
choose the trial, which has its own zero, sources, controls and noise floor. Whatever an experiment
is about (sites, heads, features, pairs, checkpoints), in the end it is trials, and `run` is the one
loop that scores them: the baseline again, the controls, and every cell, those of several trials
side by side.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from sonde.backends.base import Backend, Readout, Row, Scores, Work
from sonde.engine.controls import ControlRow, judge
from sonde.errors import ControlFailed, StaleSourceRun, WeightsChanged
from sonde.schema import Control, ModelDescription

SLAB = 4096
"""Cells that are planned at a time: a large grid's first cell does not wait for its last."""
RENEW_SECONDS = 100.0
"""A running sweep renews its leases well within the store's TTL."""


@dataclass(frozen=True)
class Panel:
    """Cells over some inner axes, counted row by row."""

    shape: tuple[int, ...]
    row_at: Callable[[tuple[int, ...]], Row]
    """An index on each axis -> the row that is run there."""
    absent: frozenset[int] = frozenset()
    """Numbers of cells that have no row: they are not run, and have no value."""

    @property
    def size(self) -> int:
        """How many places it has."""
        return math.prod(self.shape)

    @property
    def n_cells(self) -> int:
        """How many of them are run."""
        return self.size - len(self.absent)

    def cells(self) -> Iterator[int]:
        """The numbers of those that are run."""
        return (number for number in range(self.size) if number not in self.absent)

    def place(self, number: int) -> tuple[int, ...]:
        """The index on each axis of a cell by its number."""
        out = []
        for size in reversed(self.shape):
            number, index = divmod(number, size)
            out.append(index)
        return tuple(reversed(out))

    def row(self, number: int) -> Row:
        """The row of a cell by its number."""
        return self.row_at(self.place(number))


@dataclass
class Trial:
    """One prompt, what is run of it, and what has come out beside its cells."""

    model: ModelDescription
    tokens: Sequence[int]
    readout: Readout
    baseline: Sequence[float]
    """The readout of the unpatched prompt: the zero."""
    panels: Sequence[Panel]
    controls: Sequence[ControlRow] = ()
    leases: Sequence[Callable[[], object]] = ()
    """What renews the leases of its source runs."""
    noise: list[float] | None = None
    """The baseline once more, run among the cells; the noise floor is its distance."""
    found: dict[int, Control] = field(default_factory=dict)
    """What came of each control that was run, by its number; in the order in which they were done,
    which is how sweeps of one prompt have always told them."""
    computed: int = 0
    """Cells that needed work."""

    @property
    def n_cells(self) -> int:
        """Cells of all panels."""
        return sum(panel.n_cells for panel in self.panels)

    @property
    def judged(self) -> list[Control]:
        """In the order of the controls, whichever chunk was done first."""
        return [self.found[number] for number in sorted(self.found)]

    @property
    def proven(self) -> bool:
        """Whether its baseline was run again, and all its controls."""
        return self.noise is not None and len(self.found) == len(self.controls)

    def cells(self) -> Iterator[tuple[int, int]]:
        """Panel and number of every cell."""
        for number, panel in enumerate(self.panels):
            for cell in panel.cells():
                yield number, cell


class CellScore(NamedTuple):
    """One finished cell."""

    trial: Trial
    panel: int
    cell: int
    values: list[float]
    """Its readout."""


@dataclass
class _Slab:
    """Some cells of a trial that went to the backend together, after so many proofs."""

    trial: Trial
    proofs: int
    cells: list[tuple[int, int]]
    left: int
    """Rows that have not come back."""


class _Flight:
    """What is at the backend. Slabs that have come back are forgotten: many trials pass through."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._slabs: dict[int, _Slab] = {}
        self._weights: set[str] = set()
        self._renewed = time.monotonic()

    def work(self, trials: Iterable[Trial]) -> Iterator[Work]:
        """All rows of all trials, a slab at a time, each trial's proofs first."""
        number = 0
        for trial in trials:
            self._weights.add(trial.model.weights)
            proofs = [Row(computed=True), *(control.row for control in trial.controls)]
            cells = trial.cells()
            while (some := list(islice(cells, SLAB))) or proofs:
                rows = [*proofs, *(trial.panels[panel].row(cell) for panel, cell in some)]
                self._slabs[number] = _Slab(trial, len(proofs), some, len(rows))
                yield Work(trial.tokens, rows, trial.readout)
                number, proofs = number + 1, []

    def landed(self, scores: Scores) -> list[CellScore]:
        """The cells among some rows."""
        slab = self._slabs[scores.work]
        slab.left -= len(scores.rows)
        if not slab.left:
            del self._slabs[scores.work]
        return list(_finished(slab, scores.rows, scores.values.tolist(), scores.computed))

    def renew(self) -> None:
        """Renew the leases of what is under way, once in a while."""
        if time.monotonic() - self._renewed < RENEW_SECONDS:
            return
        self._renewed = time.monotonic()
        for trial in {id(slab.trial): slab.trial for slab in self._slabs.values()}.values():
            for renew in trial.leases:
                renew()

    def check_weights(self) -> None:
        """All trials were computed with the weights that their zeros were."""
        now = self._backend.describe().weights
        for before in self._weights - {now}:
            raise WeightsChanged(before, now)


def run(backend: Backend, trials: Iterable[Trial]) -> Iterator[list[CellScore]]:
    """Score every cell of every trial; those that are finished come together.

    Trials are taken as they are needed, so that preparing many of them is spread over the work.
    Closing the iterator stops it. A control that is not the baseline is an error.
    """
    flight = _Flight(backend)
    try:
        for scores in backend.score(flight.work(trials)):
            yield flight.landed(scores)
            flight.renew()
    except StaleSourceRun:
        flight.check_weights()  # which is what it means, when it was none before
        raise
    flight.check_weights()


def _finished(
    slab: _Slab, rows: Sequence[int], values: Sequence[list[float]], computed: int
) -> Iterator[CellScore]:
    """The cells among some rows; proofs are judged on the way."""
    trial = slab.trial
    for row, told in zip(rows, values, strict=True):
        if row >= slab.proofs:
            trial.computed += bool(computed)
            yield CellScore(trial, *slab.cells[row - slab.proofs], told)
        elif row == 0:
            trial.noise = _rerun(told)
        else:
            control = trial.controls[row - 1]
            trial.found[row - 1] = judge(control, told, trial.baseline, trial.model)


def _rerun(told: list[float]) -> list[float]:
    if not all(map(math.isfinite, told)):
        raise ControlFailed(f"the unpatched prompt, run among the cells, gave {told}")
    return told
