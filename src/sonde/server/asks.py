"""What a client may ask to be swept: a classic request, or a general one. One queue runs both.

Each knows how to be checked without the model, how to run event by event, and what it would cost.
Nothing else in the server tells the two apart.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar, Protocol

from pydantic import Field, TypeAdapter

from sonde.backends.base import Backend
from sonde.engine import Limits, NamedVectors, estimate, sweep
from sonde.engine.edges import table_cells
from sonde.engine.pairs import PairEvent
from sonde.engine.plan import check
from sonde.engine.sites import CellsOf
from sonde.engine.tables import check_table, estimate_table, sweep_table
from sonde.errors import BadRequest
from sonde.schema import Estimate, PatchSweepRequest, SweepEvent, SweepKind
from sonde.schema.table import SweepRequest, TableDropped, TableEvent, TablePair
from sonde.server.dictionaries import Dictionaries
from sonde.store.progress import Progress


class Ask(Protocol):
    """A request that can be checked on a backend, and what it would cost told."""

    kind: ClassVar[SweepKind]

    @property
    def request(self) -> PatchSweepRequest | SweepRequest:
        """As it was sent."""
        ...

    def check(self, backend: Backend, limits: Limits) -> None:
        """Raise what is wrong with it, as far as that is known before it runs."""
        ...

    def estimate(self, backend: Backend, limits: Limits) -> Estimate:
        """What it would cost, on the engine's thread."""
        ...


class OfOneModel(Ask, Protocol):
    """One that is run on one backend; a course goes through several models, and runs itself."""

    def events(self, backend: Backend, limits: Limits) -> Iterator[SweepEvent | TableEvent]:
        """Run it, on the engine's thread."""
        ...


@dataclass(frozen=True)
class Classic:
    """A sweep as `/v1/patch_sweep` takes it."""

    request: PatchSweepRequest
    vectors: NamedVectors
    kind: ClassVar[SweepKind] = "classic"

    def check(self, backend: Backend, limits: Limits) -> None:
        """All that the contract says is checked before anything is run."""
        check(self.request, backend, self.vectors, limits)

    def events(self, backend: Backend, limits: Limits) -> Iterator[SweepEvent]:
        """Run it."""
        return sweep(backend, self.request, modules=self.vectors, limits=limits)

    def estimate(self, backend: Backend, limits: Limits) -> Estimate:
        """What it would cost."""
        return estimate(backend, self.request, modules=self.vectors, limits=limits)


_PAIR: TypeAdapter[PairEvent] = TypeAdapter(
    Annotated[TablePair | TableDropped, Field(discriminator="type")]
)


@dataclass(frozen=True)
class General:
    """A sweep as `/v1/sweeps` takes it; `dictionaries` are those whose features it may name."""

    request: SweepRequest
    dictionaries: Dictionaries
    done: tuple[PairEvent, ...] = ()
    """Pairs of an earlier sweep that need not be run again."""
    made_of: str | None = None
    """The weights that these were computed with."""
    kind: ClassVar[SweepKind] = "table"

    def check(self, backend: Backend, limits: Limits) -> None:
        """Prompts, answers, sizes, and whether there is such a dictionary."""
        self._check_weights(backend)
        check_table(backend, self.request, limits=limits)
        if self.request.features is not None:
            self.dictionaries.find(self.request.features, backend.describe())

    def events(self, backend: Backend, limits: Limits) -> Iterator[TableEvent]:
        """Run it."""
        self._check_weights(backend)
        laid_out = self._cells_of(backend)
        return sweep_table(backend, self.request, limits=limits, cells_of=laid_out, done=self.done)

    def resumed(self, before: Progress | None, weights: str) -> "General":
        """The sweep that this one goes on with, which was made of these weights."""
        name = self.request.resume
        asked = self.request.model_dump(exclude_defaults=True, exclude={"resume", "stream"})
        if asked:
            raise BadRequest(
                f"{next(iter(asked))} does not go with `resume`, which takes everything from the "
                "sweep it goes on with: leave one out"
            )
        if before is None:
            raise BadRequest(f"sweep {name!r} is not over pairs, or has finished: send it anew")
        request = SweepRequest.model_validate_json(before.request)
        same = request.model_copy(update={"resume": name, "stream": self.request.stream})
        done = tuple(map(_PAIR.validate_json, before.done))
        return General(same, self.dictionaries, done, weights)

    def _check_weights(self, backend: Backend) -> None:
        """Pairs of other weights are not taken for pairs of these."""
        now = backend.describe().weights
        if self.done and self.made_of != now:
            raise BadRequest(
                f"sweep {self.request.resume!r} was of weights {self.made_of}, and {now} are "
                "loaded: send it anew"
            )

    def estimate(self, backend: Backend, limits: Limits) -> Estimate:
        """What it would cost."""
        laid_out = self._cells_of(backend)
        return estimate_table(backend, self.request, limits=limits, cells_of=laid_out)

    def _cells_of(self, backend: Backend) -> CellsOf:
        axis = self.request.features
        return table_cells if axis is None else self.dictionaries.cells(axis, backend.describe())
