"""One model that computes pairs of a study, in this process: alone, or as one of several.

A pair has the bits that it has alone, so any worker that computes it writes the same line.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

import sonde
from sonde.engine.pairs import PairEvent, estimate_pairs, sweep_pairs
from sonde.model import Model
from sonde.schema import ModelDescription
from sonde.schema.study import Environment, StudyModel
from sonde.schema.table import (
    DroppedPair,
    SweepRequest,
    TableDropped,
    TableEvent,
    TablePair,
    TableStart,
    TableSummary,
)
from sonde.study.environment import environment

Say = Callable[[str], None]


@dataclass(frozen=True)
class Begun:
    """What is known when a model is loaded and has seen the request."""

    model: ModelDescription
    environment: Environment
    fit: list[int]
    """Numbers of the pairs that can be run."""
    unfit: int
    cells: int
    """Of all pairs that are fit."""
    seconds: float
    """What they may take, all of them."""


class Crew(Protocol):
    """The workers of a study: one in this process, or several elsewhere."""

    def begin(self) -> Begun:
        """Load, and check the request."""
        ...

    def run(self, numbers: Sequence[int]) -> Iterator[PairEvent]:
        """Compute these pairs; each is told as it ends, in whatever order."""
        ...

    def finish(self, events: Iterable[PairEvent]) -> TableSummary:
        """The tables of all pairs, of which none is computed."""
        ...

    def environments(self) -> list[Environment]:
        """Those of everybody who has computed."""
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...


class Worker:
    """A crew of one."""

    def __init__(self, model: StudyModel, request: SweepRequest, say: Say | None = None) -> None:
        self._asked, self._request, self._say = model, request, say
        self._model: Model | None = None

    @property
    def model(self) -> Model:
        """Loaded when it is first needed."""
        if self._model is None:
            options = self._asked.model_dump(exclude={"name"}, exclude_defaults=True)
            self._model = sonde.load(self._asked.name, progress=self._say, **options)
        return self._model

    def begin(self) -> Begun:
        """Load, and check the request: what is wrong with it is raised here."""
        model, total = self.model, len(self._request.pairs or [])
        cost = estimate_pairs(model.backend, self._request, limits=model.limits)
        with closing(self._events(())) as events:
            start = next(iter(events))
        assert isinstance(start, TableStart)
        unfit = {each.pair for each in start.dropped or []}
        fit = [number for number in range(total) if number not in unfit]
        described = model.describe()
        here = environment(described.device)
        return Begun(described, here, fit, len(unfit), cost.cells, cost.seconds)

    def run(self, numbers: Sequence[int]) -> Iterator[PairEvent]:
        """Compute these pairs. To the engine the others are done: where, it need not know."""
        left = set(numbers)
        others = [
            TableDropped(
                dropped=DroppedPair(pair=number, reason="not asked of this worker"), done=0
            )
            for number in range(len(self._request.pairs or []))
            if number not in left
        ]
        with closing(self._events(others)) as events:
            for event in events if left else ():
                if not isinstance(event, TablePair | TableDropped) or number_of(event) not in left:
                    continue
                left.remove(number_of(event))
                yield _bare(event)
                if not left:
                    return

    def finish(self, events: Iterable[PairEvent]) -> TableSummary:
        """The tables of pairs that are all done."""
        *_, last = self._events(events)
        assert isinstance(last, TableSummary)
        return last

    def environments(self) -> list[Environment]:
        """This process's."""
        return [environment(self.model.describe().device)]

    def close(self) -> None:
        """End what the model runs in beside this process."""
        end = getattr(self._model and self._model.backend, "close", None)
        if end is not None:
            end()

    def _events(self, done: Iterable[PairEvent]) -> Generator[TableEvent]:
        yield from sweep_pairs(
            self.model.backend, self._request, limits=self.model.limits, done=done
        )


def number_of(event: PairEvent) -> int:
    """The pair's number in the request."""
    return event.record.pair if isinstance(event, TablePair) else event.dropped.pair


def _bare(event: PairEvent) -> PairEvent:
    """Without what depends on the pairs before it: then a pair's line has the same bits always."""
    if isinstance(event, TablePair):
        return event.model_copy(update={"means": [], "done": 0})
    return event.model_copy(update={"done": 0})
