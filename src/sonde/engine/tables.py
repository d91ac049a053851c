"""A general sweep: lay its cells out, run its trials, and tell what came of every cell.

1. **Set up**   the request is checked, prompts and answers become tokens.
2. **Grade**    the corrupt prompt and the clean one, unpatched: zero and one of the scale.
3. **Lay out**  the cells, each with the row behind it, and the controls.
4. **Run**      one trial for each variant of the prompt (an answer of several tokens has one).
5. **Tell**     a cell as soon as all its variants are there; then the tables, whole.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack

from sonde.backends.base import Backend, Work
from sonde.engine.attributed_circuits import check_circuits, with_circuits
from sonde.engine.attributed_pairs import attribute_pairs
from sonde.engine.attribution import check_attributable, sweep_attributed, verified_cells
from sonde.engine.edges import table_cells
from sonde.engine.pairs import PairEvent, check_pairs, estimate_pairs, sweep_pairs
from sonde.engine.plan import Limits
from sonde.engine.prompt_results import PromptResults
from sonde.engine.setting import Foreign, grades, set_up
from sonde.engine.sites import CellsOf
from sonde.engine.trial import run
from sonde.errors import BadRequest
from sonde.schema import Estimate, Timing
from sonde.schema.table import (
    SweepRequest,
    TableEvent,
)


def sweep_table(
    backend: Backend,
    request: SweepRequest,
    *,
    limits: Limits | None = None,
    cells_of: CellsOf = table_cells,
    done: Iterable[PairEvent] = (),
    foreign: Foreign | None = None,
) -> Iterator[TableEvent]:
    """Run one general sweep. Everything wrong with the request raises before the first event.

    Over many pairs, `done` are those that need not be run again. `foreign` are activations to be
    written in place of the clean prompt's own.
    """
    if request.checkpoints is not None:
        raise BadRequest("`checkpoints` are many models, and this is one: leave it out")
    check_circuits(request)
    if request.pairs is not None:
        if request.method == "exact":
            yield from sweep_pairs(backend, request, limits=limits, cells_of=cells_of, done=done)
            return
        if request.features is not None:
            raise BadRequest(
                "over pairs, features are swept by method 'exact'; `top` of them are chosen by "
                "attribution first"
            )
        yield from attribute_pairs(backend, request, limits=limits, done=done)
        return
    if request.method != "exact":
        limits = limits or Limits()
        events = sweep_attributed(backend, request, limits=limits, cells_of=cells_of)
        if request.circuits is not None:
            events = with_circuits(backend, request, events, limits)
        yield from events
        return
    began = time.perf_counter()
    with ExitStack() as cleanup:
        setting = set_up(backend, request, limits or Limits(), cleanup)
        setting.foreign = foreign
        graded, zeros = grades(setting)
        setting.model = backend.describe()  # of the weights that have just been run
        baseline_seconds = time.perf_counter() - began
        cells = cells_of(setting)
        told = PromptResults(setting, graded, cells, zeros)
        laid_out = time.perf_counter()
        yield told.start()
        for scores in run(backend, told.trials):
            yield from (told.event(place) for place in map(told.take, scores) if place)
        computed = time.perf_counter()
        cleanup.close()  # what was captured is gone before the summary says what came of it
        ended = time.perf_counter()
        timing = Timing(
            baseline_seconds=baseline_seconds,
            capture_seconds=laid_out - began - baseline_seconds,
            cells_seconds=computed - laid_out,
            total_seconds=ended - began,
            cells=cells.n_cells,
            computed_cells=max(trial.computed for trial in told.trials),
            cells_per_second=cells.n_cells / (ended - began),
        )
        yield told.summary(timing)


def check_table(backend: Backend, request: SweepRequest, *, limits: Limits | None = None) -> None:
    """Raise what is wrong with a request, as far as tokens and sizes tell: the model runs nothing.

    Which features there are, only the model knows: of theirs, the prompts and answers are checked.
    """
    check_circuits(request)
    if request.pairs is not None:
        check_pairs(backend, request, limits=limits)
        return
    with ExitStack() as cleanup:
        setting = set_up(backend, request, limits or Limits(), cleanup, find_rival=False)
        check_attributable(setting)
        if request.features is None:
            table_cells(setting, reckoned=True)


def estimate_table(
    backend: Backend,
    request: SweepRequest,
    *,
    limits: Limits | None = None,
    cells_of: CellsOf = table_cells,
) -> Estimate:
    """What a general sweep will cost. Runs its prompt once, captures nothing for its cells."""
    if request.pairs is not None:
        return estimate_pairs(backend, request, limits=limits, cells_of=cells_of)
    with ExitStack() as cleanup:
        setting = set_up(backend, request, limits or Limits(), cleanup)
        cells = cells_of(setting, reckoned=True)
        rows = [panel.row(n) for panel in cells.panels for n in panel.cells()]
        rows = rows[:: max(1, len(rows) // verified_cells(request, len(rows)))]
        work = [
            Work([*setting.corrupt, *variant], rows, readout)
            for variant in setting.question.variants
            for readout in [setting.question.readout(variant, len(setting.corrupt), setting.told())]
        ]
        cost = backend.cost(work)
    width = 4 if setting.model.dtype == "float32" else 2
    hooks = len({table.hook for table in cells.tables})
    layers = len({row.writes[0].site.layer for row in rows if row.writes})
    return Estimate(
        cells=cells.n_cells,
        computed_cells=cost.computed_rows,
        token_layers=cost.token_layers,
        working_bytes=cost.working_bytes,
        source_bytes=width * setting.model.width * hooks * layers * len(setting.clean or []),
        seconds=cost.seconds,
        chunks=cost.chunks,
    )
