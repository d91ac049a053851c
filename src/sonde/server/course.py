"""A sweep over the checkpoints of a run, each leased from the pool while it is swept."""

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, cast

from sonde.backends.base import Backend
from sonde.engine import Limits
from sonde.engine.course import Work, check_course, sweep_course
from sonde.engine.edges import table_cells
from sonde.engine.sites import CellsOf
from sonde.engine.tables import check_table, estimate_table
from sonde.errors import BadRequest
from sonde.runs.checkpoint_name import CheckpointName
from sonde.schema import Estimate, ModelDescription, SweepKind
from sonde.schema.sweep import Loading
from sonde.schema.table import FeatureAxis, SweepRequest, TableEvent
from sonde.server.dictionaries import Dictionaries
from sonde.server.model_names import ModelSource
from sonde.server.pool import Pool, ServedModel


@dataclass(frozen=True)
class Course:
    """A sweep as `/v1/sweeps` takes it, with `checkpoints`."""

    request: SweepRequest
    dictionaries: Dictionaries
    sources: Mapping[int, ModelSource]
    """Every checkpoint that is needed, by its step."""
    steps: tuple[int, ...]
    """Those that are swept, in order."""
    kind: ClassVar[SweepKind] = "table"

    @classmethod
    def of(cls, request: SweepRequest, models: Pool, dictionaries: Dictionaries) -> "Course":
        """The checkpoints that a request means; what is wrong with them raises here."""
        axis = request.checkpoints
        assert axis is not None
        if request.model is not None:
            raise BadRequest("`checkpoints` say which models, so leave `model` out")
        check_course(request)
        steps = models.steps(axis.run) if axis.steps == "all" else sorted(set(axis.steps))
        if not steps:
            raise BadRequest(f"the run {axis.run!r} has no checkpoint: train with --save-steps")
        needed = [*steps, *([] if axis.sources_from is None else [axis.sources_from])]
        found = {step: models.find(str(CheckpointName(axis.run, step))) for step in needed}
        return cls(request, dictionaries, found, tuple(steps))

    @property
    def newest(self) -> ModelSource:
        """The one that is swept first."""
        return self.sources[self.steps[-1]]

    def check(self, backend: Backend, limits: Limits) -> None:
        """What the newest, where it is loaded, says of the request."""
        check_table(backend, self._single, limits=limits)
        if self.request.features is not None:
            self.dictionaries.find(self._features(), backend.describe())

    def run(
        self,
        models: Pool,
        limits: Limits,
        tell: Callable[[Loading], None],
        described: Callable[[ServedModel], None],
    ) -> Iterator[TableEvent]:
        """Run it, on the engine's thread; models are loaded in turn, with pauses in between."""

        def on(step: int, work: Work) -> Generator[object, None, None]:
            def events(served: ServedModel) -> Iterator[object]:
                if self.sources[step] == self.newest:
                    described(served)
                return work(served.backend)

            made = models.run(self.sources[step], events, tell)
            return cast(Generator[object, None, None], made)

        return sweep_course(self.request, self.steps, on, limits=limits, cells_for=self._cells)

    def estimate(self, backend: Backend, limits: Limits) -> Estimate:
        """What it would cost: so many times what the newest does, loading not counted."""
        cells_of, n = self._cells(backend.describe()), len(self.steps)
        one = estimate_table(backend, self._single, limits=limits, cells_of=cells_of)
        counted = ("cells", "computed_cells", "token_layers", "seconds", "chunks")
        return one.model_copy(update={name: getattr(one, name) * n for name in counted})

    @property
    def _single(self) -> SweepRequest:
        return self.request.model_copy(update={"checkpoints": None})

    def _features(self) -> FeatureAxis:
        """With the run's own dictionary, unless another is named."""
        axis, run = self.request.features, self.request.checkpoints
        assert axis is not None
        assert run is not None
        return axis.model_copy(update={"dictionary": axis.dictionary or run.run})

    def _cells(self, model: ModelDescription) -> CellsOf:
        return (
            table_cells
            if self.request.features is None
            else self.dictionaries.cells(self._features(), model)
        )
