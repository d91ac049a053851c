"""A sweep over many pairs: the outer axis, each pair a trial with a zero, sources and controls of
its own.

1. **Check**    tokens and roles of all pairs (`candidates`): what is unfit is known beforehand.
2. **Grade**    the prompts of some pairs side by side; those the model gets wrong are dropped.
3. **Lay out**  a pair when its turn comes: what is captured for it is dropped when it is done, so
   memory does not grow with the number of pairs.
4. **Run**      cells of several pairs share chunks (`trial`). A pair has the bits it has alone.
5. **Tell**     a pair as soon as all its cells and proofs are there; then the tables, whole.

What is done already is taken over, so a sweep that was interrupted goes on where it was.
"""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from sonde.backends.base import Backend, Cost, Work
from sonde.engine.answers import Grades, mistake
from sonde.engine.candidates import Candidate, Candidates, candidates, one_setting, turned
from sonde.engine.edges import table_cells
from sonde.engine.gathered import Gathered
from sonde.engine.plan import Limits
from sonde.engine.prompt_results import PromptResults
from sonde.engine.scored import Scored
from sonde.engine.setting import Graded, Setting, grades_together
from sonde.engine.sites import CellsOf, SharedCells
from sonde.engine.trial import Trial, run
from sonde.errors import BadRequest
from sonde.schema import Estimate, Timing
from sonde.schema.table import SweepRequest, TableDropped, TableEvent, TablePair

AHEAD = 1024
"""Tokens of prompts that are run unpatched side by side, before their pairs' turns come."""
SAMPLED = 8
"""Pairs that an estimate looks at."""

PairEvent = TablePair | TableDropped


@dataclass
class _Open:
    """A pair under way: what has come out of it in each direction."""

    candidate: Candidate
    told: list[PromptResults]
    cleanup: ExitStack


def sweep_pairs(
    backend: Backend,
    request: SweepRequest,
    *,
    limits: Limits | None = None,
    cells_of: CellsOf = table_cells,
    done: Iterable[PairEvent] = (),
) -> Iterator[TableEvent]:
    """Run a sweep over pairs. `done` are the events of pairs that need not be run again."""
    began = time.perf_counter()
    asked = candidates(backend, request, limits or Limits(), cells_of)
    asked, cells_of = settle(backend, asked, limits or Limits(), cells_of)
    gathered = Gathered(asked)
    for event in done:
        gathered.take_over(event)
    yield gathered.start()
    yield from gathered.so_far()
    computed = 0
    flight = Flight(backend, asked, gathered, limits or Limits(), cells_of)
    try:
        for made in flight.run():
            computed += made.computed
            yield made.event
    finally:
        flight.close()
    gathered.check_some()
    seconds = time.perf_counter() - began
    cells = len(gathered.records) * asked.cells_a_pair
    yield gathered.summary(
        Timing(
            baseline_seconds=flight.baseline_seconds,
            capture_seconds=flight.capture_seconds,
            cells_seconds=seconds - flight.baseline_seconds - flight.capture_seconds,
            total_seconds=seconds,
            cells=cells,
            computed_cells=computed,
            cells_per_second=flight.cells / seconds,
        )
    )


@dataclass(frozen=True)
class PairOutcome:
    """A pair that is done with, one way or the other."""

    event: PairEvent
    computed: int


class Flight:
    """Pairs on their way through the backend."""

    def __init__(
        self,
        backend: Backend,
        asked: Candidates,
        gathered: Gathered,
        limits: Limits,
        cells_of: CellsOf = table_cells,
    ) -> None:
        """Nothing runs before it is iterated."""
        self._backend, self._asked, self._gathered = backend, asked, gathered
        self._limits, self._cells_of = limits, cells_of
        self._open: dict[int, _Open] = {}
        self._owner: dict[int, PromptResults] = {}
        """Trials by their identity."""
        self._unfit: deque[PairOutcome] = deque()
        self.baseline_seconds = self.capture_seconds = 0.0
        self.cells = 0

    def attributed(self) -> Iterator[PairOutcome]:
        """Pairs whose cells are scored to first order."""
        for candidate, scored, cleanup in self._laid_out():
            yield from self._dropped()
            with cleanup:
                for each in scored:
                    list(each.show(each.score()))
            yield PairOutcome(self._gathered.add(candidate, [each.told for each in scored]), 0)
        yield from self._dropped()

    def run(self) -> Iterator[PairOutcome]:
        """Pairs as they are finished, or turn out to be unfit."""
        for scores in run(self._backend, self._trials()):
            for score in scores:
                self._owner[id(score.trial)].take(score)
            yield from self._over()
        yield from self._over()

    def close(self) -> None:
        """Drop what is held for pairs that were not finished."""
        for each in self._open.values():
            each.cleanup.close()

    def _dropped(self) -> Iterator[PairOutcome]:
        while self._unfit:
            yield self._unfit.popleft()

    def _over(self) -> Iterator[PairOutcome]:
        yield from self._dropped()
        for number, each in list(self._open.items()):
            if not all(told.over for told in each.told):
                continue
            del self._open[number]
            trials = [trial for told in each.told for trial in told.trials]
            for trial in trials:
                del self._owner[id(trial)]
            each.cleanup.close()
            self.cells += self._asked.cells_a_pair
            computed = sum(max(t.computed for t in told.trials) for told in each.told)
            yield PairOutcome(self._gathered.add(each.candidate, each.told), computed)

    def _trials(self) -> Iterator[Trial]:
        """The trials of all pairs that are left."""
        for candidate, scored, cleanup in self._laid_out():
            told = [each.told for each in scored]
            self._open[candidate.number] = _Open(candidate, told, cleanup)
            for each in told:
                self._owner |= {id(trial): each for trial in each.trials}
                yield from each.trials

    def _laid_out(self) -> Iterator[tuple[Candidate, list[Scored], ExitStack]]:
        """All pairs that are left; each is laid out when it is asked for."""
        left = [each for each in self._asked.fit if each.number not in self._gathered.known]
        for some in self._ahead(left):
            began = time.perf_counter()
            settings = [self._settings(candidate) for candidate in some]
            graded = _graded([turns for turns, _ in settings])
            model = self._backend.describe()  # of the weights that have just been run
            self.baseline_seconds += time.perf_counter() - began
            for candidate, (turns, cleanup), mine in zip(some, settings, graded, strict=True):
                reason = mine if isinstance(mine, str) else self._unfit_reason(mine[0][0])
                if isinstance(mine, str) or reason is not None:
                    cleanup.close()
                    self._unfit.append(PairOutcome(self._gathered.drop(candidate, str(reason)), 0))
                    continue
                began = time.perf_counter()
                scored = []
                for setting, graded_as in zip(turns, mine, strict=True):
                    setting.model = model
                    scored.append(Scored(setting, graded_as, self._cells_of(setting)))
                self.capture_seconds += time.perf_counter() - began
                yield candidate, scored, cleanup

    def _settings(self, candidate: Candidate) -> tuple[list[Setting], ExitStack]:
        cleanup = ExitStack()
        request, limits = self._asked.request, self._limits
        plain = one_setting(self._backend, request, candidate.pair, limits, cleanup)
        plain.places = self._asked.places
        turns = [turned(plain, each, limits, cleanup) for each in self._asked.directions]
        return turns, cleanup

    def _ahead(self, left: Sequence[Candidate]) -> Iterator[list[Candidate]]:
        some: list[Candidate] = []
        tokens = 0
        for each in left:
            some.append(each)
            tokens += len(str(each.pair.clean)) // 4 + len(str(each.pair.corrupt)) // 4
            if tokens >= AHEAD:
                yield some
                some, tokens = [], 0
        if some:
            yield some

    def _unfit_reason(self, grade: Grades) -> str | None:
        """Why a pair has no place in the table, now that its prompts have been run."""
        clean = grade.clean
        assert clean is not None
        told = "recovered" in grade.question.metrics
        why = grade.why_no_recovery() if told else None
        if why is not None or not self._asked.request.drop_wrong:
            return why
        noising = self._asked.directions[0] == "noise"
        return mistake(*((grade.corrupt, clean) if noising else (clean, grade.corrupt)))


def settle(
    backend: Backend, asked: Candidates, limits: Limits, cells_of: CellsOf
) -> tuple[Candidates, CellsOf]:
    """Axes that hang on what the model does, settled for all pairs before the first is laid out."""
    if not isinstance(cells_of, SharedCells):
        return asked, cells_of
    shared = cells_of.shared(_each(backend, asked, limits))
    for setting in _each(backend, asked, limits):
        return replace(asked, cells=shared(setting, reckoned=True)), shared
    raise AssertionError("candidates are never none")


def _each(backend: Backend, asked: Candidates, limits: Limits) -> Iterator[Setting]:
    """Every pair in every direction; what is captured for one goes before the next."""
    for candidate in asked.fit:
        with ExitStack() as cleanup:
            plain = one_setting(backend, asked.request, candidate.pair, limits, cleanup)
            plain.places = asked.places
            for direction in asked.directions:
                yield turned(plain, direction, limits, cleanup)


def _graded(turns: Sequence[Sequence[Setting]]) -> list[list[Graded] | str]:
    """The prompts of several pairs, unpatched; of one that cannot be run, why not."""
    try:
        found = iter(grades_together([setting for each in turns for setting in each]))
        return [[next(found) for _ in each] for each in turns]
    except BadRequest as error:
        if len(turns) == 1:
            return [str(error)]
    return [one for each in turns for one in _graded([each])]


def check_pairs(backend: Backend, request: SweepRequest, *, limits: Limits | None = None) -> None:
    """Raise what is wrong with a request over pairs: the model runs nothing."""
    laid_out = table_cells if request.features is None else None
    candidates(backend, request, limits or Limits(), laid_out)


def estimate_pairs(
    backend: Backend,
    request: SweepRequest,
    *,
    limits: Limits | None = None,
    cells_of: CellsOf = table_cells,
) -> Estimate:
    """What a sweep over pairs will cost: reckoned for a few of them, evenly drawn, for all."""
    limits = limits or Limits()
    asked = candidates(backend, request, limits, cells_of)
    some = asked.fit[:: max(1, len(asked.fit) // SAMPLED)][:SAMPLED]
    work: list[Work] = []
    source = 0
    with ExitStack() as cleanup:
        for candidate in some:
            plain = one_setting(backend, request, candidate.pair, limits, cleanup)
            plain.places = asked.places
            for direction in asked.directions:
                setting = turned(plain, direction, limits, cleanup)
                cells = cells_of(setting, reckoned=True)
                rows = [panel.row(n) for panel in cells.panels for n in panel.cells()]
                n, told = len(setting.corrupt), setting.told()
                for variant in setting.question.variants:
                    readout = setting.question.readout(variant, n, told)
                    work.append(Work([*setting.corrupt, *variant], rows, readout))
                source = max(source, _source_bytes(setting))
        cost = backend.cost(work)
    return _scaled(cost, len(asked.fit) / len(some), asked, source)


def _source_bytes(setting: Setting) -> int:
    model, clean = setting.model, len(setting.clean or [])
    hooks = [hook for hook in model.hooks if hook in (setting.request.hooks or ["post_block"])]
    width = sum(model.hook_width(hook, clean) for hook in hooks)
    return (4 if model.dtype == "float32" else 2) * width * model.n_layers * clean


def _scaled(cost: Cost, times: float, asked: Candidates, source: int) -> Estimate:
    return Estimate(
        cells=asked.cells_a_pair * len(asked.fit),
        computed_cells=round(cost.computed_rows * times),
        token_layers=round(cost.token_layers * times),
        working_bytes=cost.working_bytes,
        source_bytes=source,
        seconds=cost.seconds * times,
        chunks=round(cost.chunks * times),
    )
