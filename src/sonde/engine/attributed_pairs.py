"""Attribution over many prompt pairs: the mean score of every cell, verified by exact means.

Every pair is scored from a gradient of its own. What is verified is what all pairs say together:
the cells whose mean is strongest, and a random sample of the others, are run in every pair.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sonde.backends.base import Backend
from sonde.engine.attribution import VERIFY, said
from sonde.engine.candidates import Candidates, candidates
from sonde.engine.edges import table_cells
from sonde.engine.gathered import Gathered
from sonde.engine.pairs import Flight, PairEvent
from sonde.engine.plan import Limits
from sonde.engine.scored import drawn_from, only_cells, strongest
from sonde.engine.setting import Setting
from sonde.engine.sites import Cells, CellsOf
from sonde.schema import Timing
from sonde.schema.table import SweepRequest, TableDropped, TableEvent, TableSummary, TableVerifying
from sonde.schema.verification import Verification, VerifiedCell
from sonde.statistics.verification import verification

Means = NDArray[np.float64]


def attribute_pairs(
    backend: Backend,
    request: SweepRequest,
    *,
    limits: Limits | None = None,
    done: Iterable[PairEvent] = (),
) -> Iterator[TableEvent]:
    """Run a sweep over pairs by attribution. `done` are pairs that need not be scored again."""
    began = time.perf_counter()
    limits = limits or Limits()
    asked = candidates(backend, request, limits)
    gathered = Gathered(asked)
    for event in done:
        gathered.take_over(event)
    yield gathered.start()
    yield from gathered.so_far()
    flight = Flight(backend, asked, gathered, limits)
    try:
        for made in flight.attributed():
            yield made.event
    finally:
        flight.close()
    gathered.check_some()
    scored_at = time.perf_counter()
    scores = _flat(gathered)
    order = strongest(scores - _bases(gathered, request, scores))
    first = order[: VERIFY if request.verify is None else request.verify].tolist()
    drawn = drawn_from(order[len(first) :], request.sample, request.seed)
    exact = Gathered(asked)
    for dropped in gathered.dropped:
        exact.take_over(TableDropped(dropped=dropped, done=0))
    chosen = Flight(backend, asked, exact, limits, _only(asked, [*first, *drawn]))
    try:
        for _ in chosen.run():
            yield TableVerifying(done=len(exact.records))
    finally:
        chosen.close()
    ended = time.perf_counter()
    cells = len(gathered.records) * asked.cells_a_pair
    timing = Timing(
        baseline_seconds=flight.baseline_seconds + chosen.baseline_seconds,
        capture_seconds=flight.capture_seconds + chosen.capture_seconds,
        cells_seconds=ended - scored_at,
        total_seconds=ended - began,
        cells=cells,
        computed_cells=len(exact.records) * (len(first) + len(drawn)),
        cells_per_second=cells / (ended - began),
    )
    proofs = exact.summary(timing)
    found = _verification(
        asked, scores, _flat(exact), _bases(gathered, request, scores), first, drawn, proofs
    )
    summary = gathered.summary(timing)
    update = {
        "verification": found,
        "noise_floor": proofs.noise_floor,
        "controls": proofs.controls,
        "warnings": [*summary.warnings, *said(found)],
        "pairs": proofs.pairs,
    }
    yield summary.model_copy(update=update)


def _flat(gathered: Gathered) -> Means:
    """The mean of every cell of all tables; NaN where there is none."""
    each = [value for means in gathered.means() for value in means]
    return np.array([np.nan if value is None else value for value in each], dtype=np.float64)


def _bases(gathered: Gathered, request: SweepRequest, like: Means) -> Means:
    """What every cell is a change from: the mean of the prompts that are written to."""
    metric = request.metric or "logprob"
    if metric == "recovered":
        return np.zeros_like(like)
    records = gathered.records.values()
    ends = [r.clean if request.direction == "noise" else r.corrupt for r in records]
    values = [value for end in ends if (value := end[metric]) is not None]
    return np.full_like(like, np.mean(values))


def _places(asked: Candidates) -> list[tuple[int, int]]:
    """Table and number in it of every cell, counted through all tables."""
    return [(n, cell) for n, panel in enumerate(asked.cells.panels) for cell in range(panel.size)]


def _only(asked: Candidates, numbers: Sequence[int]) -> CellsOf:
    """The cells of sites, of which only these are run."""
    places = _places(asked)
    chosen: dict[int, set[int]] = defaultdict(set)
    for number in numbers:
        panel, cell = places[number]
        chosen[panel].add(cell)

    def cells(setting: Setting, *, reckoned: bool = False) -> Cells:
        return only_cells(table_cells(setting, reckoned=reckoned), chosen)

    return cells


def _verification(
    asked: Candidates,
    scores: Means,
    exact: Means,
    bases: Means,
    first: Sequence[int],
    drawn: Sequence[int],
    proofs: TableSummary,
) -> Verification:
    """What the exact means say of the mean scores."""
    places, request = _places(asked), asked.request

    def compared(number: int, *, sampled: bool) -> VerifiedCell:
        panel, cell = places[number]
        return VerifiedCell(
            table=panel,
            at=list(asked.cells.panels[panel].place(cell)),
            attributed=float(scores[number] - bases[number]),
            exact=float(np.nan_to_num(exact[number] - bases[number])),
            sampled=sampled,
        )

    return verification(
        [compared(number, sampled=False) for number in first]
        + [compared(number, sampled=True) for number in drawn],
        cells=int((~np.isnan(scores)).sum()),
        noise=proofs.noise_floor.get(proofs.metric) or 0.0,
        gradient=request.gradient,
        steps=request.steps if request.gradient == "eap-ig" else 1,
        seed=request.seed,
    )
