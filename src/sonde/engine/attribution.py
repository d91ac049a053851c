"""A sweep whose cells are scored to first order, and verified exactly in the same call.

1. **Score**   every cell from one gradient (`slopes`): a value is the baseline plus the cell's
   first-order change, so that it stands where the exact value would.
2. **Run**     some of them exactly, with baseline and controls like any sweep: the strongest and a
   random sample of the others; or, `adaptive`, those that a search comes to.
3. **Compare** the two (`statistics.verification`): what the ranking is worth, and what it can have
   missed.
"""

import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from typing import Final

from sonde.backends.base import Backend
from sonde.engine.adaptive import AGAIN, LEAST, search
from sonde.engine.plan import Limits
from sonde.engine.scored import Ran, Scored, drawn_from, strongest
from sonde.engine.setting import Setting, grades, set_up
from sonde.engine.sites import CellsOf
from sonde.engine.slopes import check_smooth, check_way
from sonde.schema import Timing
from sonde.schema.table import SweepRequest, TableEvent, TableVerifying
from sonde.schema.verification import Verification

VERIFY: Final = 200
"""Strongest cells that are run, if nothing is said."""
FIND: Final = 10
"""Strongest cells that an adaptive sweep is to find, if nothing is said."""


def sweep_attributed(
    backend: Backend, request: SweepRequest, *, limits: Limits, cells_of: CellsOf
) -> Iterator[TableEvent]:
    """Run a sweep of one prompt by attribution. What is wrong raises before the first event."""
    began = time.perf_counter()
    with ExitStack() as cleanup:
        setting = set_up(backend, request, limits, cleanup)
        check_attributable(setting)
        graded = grades(setting)
        setting.model = backend.describe()
        graded_at = time.perf_counter()
        scored = Scored(setting, graded, cells_of(setting))
        changes = scored.score()
        laid_out = time.perf_counter()
        told = scored.told
        yield told.start()
        if request.method == "adaptive":
            k = FIND if request.verify is None else request.verify
            ran = yield from search(scored, k)
            verification = scored.verification(ran, [k])
            for number in sorted(scored.exact):
                told.put(scored.place(number), scored.exact[number])
                yield told.event(scored.place(number))
        else:
            yield from map(told.event, scored.show(changes))
            ran = yield from _verified(scored)
            verification = scored.verification(ran)
        setting.warnings.extend(said(verification, adaptive=request.method == "adaptive"))
        computed = time.perf_counter()
        cleanup.close()
        ended = time.perf_counter()
        cells = scored.cells.n_cells
        timing = Timing(
            baseline_seconds=graded_at - began,
            capture_seconds=laid_out - graded_at,
            cells_seconds=computed - laid_out,
            total_seconds=ended - began,
            cells=cells,
            computed_cells=len(scored.exact),
            cells_per_second=cells / (ended - began),
        )
        proof = scored.proof
        assert proof is not None
        update = {
            "verification": verification,
            "noise_floor": proof.noise(),
            "controls": proof.controls(),
        }
        yield told.summary(timing).model_copy(update=update)


def verified_cells(request: SweepRequest, cells: int) -> int:
    """How many of so many cells will be run, as far as the request tells: all, if it is exact."""
    if request.method == "exact":
        return max(cells, 1)
    few = VERIFY if request.method == "attribution" else LEAST + AGAIN * FIND
    asked = (few if request.verify is None else request.verify) + request.sample
    return max(min(asked, cells), 1)


def check_attributable(setting: Setting) -> None:
    """The metrics have slopes, and the gradient a way."""
    if setting.request.method == "exact":
        return
    check_smooth(setting.question.metrics)
    check_way(setting.request, setting.corrupt, setting.clean)


def _verified(scored: Scored) -> Generator[TableVerifying, None, Ran]:
    """Run the strongest and a sample of the others. -> which they were"""
    request = scored.setting.request
    order = strongest(scored.changes)
    first = order[: VERIFY if request.verify is None else request.verify].tolist()
    drawn = drawn_from(order[len(first) :], request.sample, request.seed)
    yield from scored.run([*first, *drawn])
    return Ran(first, drawn)


def said(found: Verification, *, adaptive: bool = False) -> list[str]:
    """What a reader of the numbers has to know, in words."""
    out: list[str] = []
    if adaptive and found.verified == found.cells:
        return out
    if adaptive and found.at:
        last = found.at[-1]
        bound = "not known: there was no random sample"
        if last.missed_at_most is not None:
            bound = f"at most {last.missed_at_most:.2%} (95 %)"
        out.append(
            f"{found.verified} of {found.cells} cells were run and the others have no number; of "
            f"those, the share farther from the baseline than {last.threshold:.4g}, the "
            f"{last.k}th strongest, is {bound}"
        )
    elif found.at and found.at[0].stronger_in_sample:
        first = found.at[0]
        out.append(
            f"attribution missed what matters: {first.stronger_in_sample} of {found.sampled} cells "
            f"drawn at random are farther from the baseline than the {first.k}th strongest that "
            "was run; see the verification, and take gradient 'eap-ig' or method 'exact'"
        )
    return out
