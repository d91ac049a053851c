"""A sweep through training: the same one on every checkpoint of a run, in one table.

The checkpoint is the outermost axis. Each is an ordinary sweep on a model of its own, with its own
zero, sources, controls and noise floor, and here the events of all become those of one table. So a
checkpoint's cells have the bits of the ordinary sweep, because they come from it.

What the model decides, which foil and which features, is decided once, by the newest checkpoint:
it is the first to be run, and the others are asked the same.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Protocol, cast

from sonde.backends.base import Backend
from sonde.engine.attributed_circuits import check_circuits
from sonde.engine.edges import table_cells
from sonde.engine.plan import Limits
from sonde.engine.setting import Foreign, Setting, set_up
from sonde.engine.sites import Cells, CellsOf, SharedCells, span_of
from sonde.engine.sources import foreign_of
from sonde.engine.tables import sweep_table
from sonde.errors import BadRequest, SondeError
from sonde.schema import ModelDescription, Timing
from sonde.schema.table import (
    Axis,
    CheckpointRecord,
    SweepRequest,
    Table,
    TableCell,
    TableEvent,
    TableMetric,
    TableStart,
    TableSummary,
)

Work = Callable[[Backend], Iterator[object]]
"""What is done on the model of one checkpoint; yields events, among them a description."""


class OnCheckpoint(Protocol):
    """Does work on the model of a checkpoint, which is there for as long as that takes."""

    def __call__(self, step: int, work: Work) -> Generator[object, None, None]:
        """What the work yields, and whatever else its driver has to know meanwhile."""
        ...


CellsFor = Callable[[ModelDescription], CellsOf]
"""The cells of a request on one model."""


def sweep_course(
    request: SweepRequest,
    steps: Sequence[int],
    on: OnCheckpoint,
    *,
    limits: Limits | None = None,
    cells_for: CellsFor = lambda _model: table_cells,
) -> Iterator[TableEvent]:
    """Run a sweep on every checkpoint. What is yielded that is no event of it is passed on."""
    check_course(request)
    course = _Course(request, sorted(set(steps)), limits or Limits(), cells_for)
    axis = request.checkpoints
    assert axis is not None
    if axis.sources_from is not None:
        yield from _passed(on(axis.sources_from, course.capture))
    for index in reversed(range(len(course.steps))):
        with closing(on(course.steps[index], course.work)) as items:
            for item in items:
                made = course.event(index, item)
                if made is not None:
                    yield made
    yield course.summary()


def check_course(request: SweepRequest) -> None:
    """What does not go with checkpoints."""
    axis = request.checkpoints
    assert axis is not None
    check_circuits(request)
    if request.pairs is not None:
        raise BadRequest("`checkpoints` are of one prompt so far: leave `pairs` out, or sweep each")
    if request.source_run is not None:
        raise BadRequest("source_run is of one model's weights, and `checkpoints` are many")
    if axis.sources_from is not None and (
        request.features or request.source != "clean" or request.method != "exact"
    ):
        raise BadRequest(
            "sources_from takes the clean prompt's activations at sites from another checkpoint: "
            "it goes with source='clean', method='exact' and without `features`"
        )


def _passed(items: Iterator[object]) -> Iterator[TableEvent]:
    """What is not ours, with its type left to the code that put it there."""
    for item in items:
        yield cast(TableEvent, item)


@dataclass
class _Course:
    """What has come of the checkpoints so far."""

    request: SweepRequest
    steps: list[int]
    limits: Limits
    cells_for: CellsFor
    foreign: Foreign | None = None
    shared: CellsOf | None = None
    """Cells with the axes of the newest, where those hang on the model."""
    start: TableStart | None = None
    models: dict[int, ModelDescription] = field(default_factory=dict)
    found: dict[int, TableSummary] = field(default_factory=dict)

    def capture(self, backend: Backend) -> Iterator[object]:
        """Keep what another checkpoint has at the sites."""
        with ExitStack() as cleanup:
            setting = set_up(backend, self._single, self.limits, cleanup, find_rival=False)
            self.foreign = foreign_of(setting, span_of(setting))
        yield from ()

    def work(self, backend: Backend) -> Iterator[object]:
        """The ordinary sweep of one checkpoint, after its description."""
        model = backend.describe()
        yield model
        cells_of = self._cells(self.cells_for(model))
        yield from sweep_table(
            backend, self._single, limits=self.limits, cells_of=cells_of, foreign=self.foreign
        )

    @property
    def _single(self) -> SweepRequest:
        return self.request.model_copy(update={"checkpoints": None})

    def _cells(self, made: CellsOf) -> CellsOf:
        """Of features, the same ones at every checkpoint."""

        def cells(setting: Setting, *, reckoned: bool = False) -> Cells:
            if not isinstance(made, SharedCells):
                return made(setting, reckoned=reckoned)
            if self.shared is None:
                self.shared = made.shared([setting])
            return self.shared(setting, reckoned=reckoned)

        return cells

    def event(self, index: int, item: object) -> TableEvent | None:
        """An event of one checkpoint as one of all; None where it is kept for the end."""
        if isinstance(item, ModelDescription):
            self.models[index] = item
            return None
        if isinstance(item, TableStart):
            return self._started(index, item)
        if isinstance(item, TableCell):
            return item.model_copy(update={"at": [index, *item.at]})
        if isinstance(item, TableSummary):
            self.found[index] = item
            foil = item.notes.get("foil_id")
            if foil is not None:
                self.request = self.request.model_copy(update={"foil": int(foil)})
            return None
        return cast(TableEvent, item)

    def _started(self, index: int, item: TableStart) -> TableStart | None:
        if self.start is None:
            self.start = item
            tables = [self._table(table, {}, None) for table in item.tables]
            cells = item.cells * len(self.steps)
            return item.model_copy(
                update={"tables": tables, "cells": cells, "corrupt": {}, "clean": None}
            )
        if [table.axes for table in item.tables] != [table.axes for table in self.start.tables]:
            raise SondeError(
                f"checkpoint-{self.steps[index]} has other axes than the newest; sweep it alone"
            )
        return None

    def summary(self) -> TableSummary:
        """The last event."""
        indices = range(len(self.steps))
        each = [self.found[index] for index in indices]
        newest = each[-1]
        return newest.model_copy(
            update={
                "tables": [self._stacked(each, n) for n in range(len(newest.tables))],
                "noise_floor": _largest([one.noise_floor for one in each]),
                "controls": [control for one in each for control in one.controls],
                "skipped": newest.skipped,
                "notes": self._notes(each),
                "warnings": self._warnings(each),
                "timing": _together([one.timing for one in each]),
                "checkpoints": [self._record(index) for index in indices],
            }
        )

    def _stacked(self, each: Sequence[TableSummary], n: int) -> Table:
        tables = [one.tables[n] for one in each]
        values = {m: [v for table in tables for v in table.values[m]] for m in tables[0].values}
        active = [table.activations for table in tables]
        told = [value for some in active if some is not None for value in some]
        return self._table(tables[0], values, told if None not in active else None)

    def _table(
        self,
        table: Table,
        values: dict[TableMetric, list[float | None]],
        activations: list[float] | None,
    ) -> Table:
        names = [str(step) for step in self.steps]
        outer = Axis(name="checkpoint", values=list(self.steps), labels=names)
        axes = [outer, *table.axes]
        return table.model_copy(update={"axes": axes, "values": values, "activations": activations})

    def _record(self, index: int) -> CheckpointRecord:
        model, found = self.models[index], self.found[index]
        return CheckpointRecord(
            step=self.steps[index],
            model=model.name,
            weights=model.weights,
            corrupt=found.corrupt,
            clean=found.clean,
            noise_floor=found.noise_floor,
            controls=found.controls,
            skipped=found.skipped,
            timing=found.timing,
        )

    def _notes(self, each: Sequence[TableSummary]) -> dict[str, str]:
        axis = self.request.checkpoints
        assert axis is not None
        said = {"checkpoints": f"{len(each)} of run {axis.run}, the newest first"}
        if self.foreign is not None:
            said["sources"] = f"checkpoint-{axis.sources_from}, weights {self.foreign.weights}"
        return each[-1].notes | said

    def _warnings(self, each: Sequence[TableSummary]) -> list[str]:
        """Each once where all say it, otherwise with who says it."""
        known: dict[str, list[int]] = {}
        for step, one in zip(self.steps, each, strict=True):
            for warning in one.warnings:
                known.setdefault(warning, []).append(step)
        return [
            warning if len(steps) == len(each) else f"checkpoint {_named(steps)}: {warning}"
            for warning, steps in known.items()
        ]


def _named(steps: Sequence[int]) -> str:
    return ", ".join(map(str, steps))


def _largest(
    each: Sequence[dict[TableMetric, float | None]],
) -> dict[TableMetric, float | None]:
    out: dict[TableMetric, float | None] = {}
    for metric in each[0]:
        values = [told[metric] for told in each]
        known = [value for value in values if value is not None]
        out[metric] = max(known) if len(known) == len(values) else None
    return out


def _together(each: Sequence[Timing]) -> Timing:
    """The times of all, one after the other; loading is not among them."""
    total = sum(one.total_seconds for one in each)
    cells = sum(one.cells for one in each)
    return Timing(
        baseline_seconds=sum(one.baseline_seconds for one in each),
        capture_seconds=sum(one.capture_seconds for one in each),
        cells_seconds=sum(one.cells_seconds for one in each),
        total_seconds=total,
        cells=cells,
        computed_cells=sum(one.computed_cells for one in each),
        cells_per_second=cells / total,
    )
