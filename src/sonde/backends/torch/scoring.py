"""Score many patched runs of one prompt, in chunks that fit the memory they may use.

1. **Settle** the rows whose answer is the baseline's by construction: a patch that writes what is
   already there, or that the last position cannot see. They need no work.
2. **Chunk** the rest, cells that enter late first: they are the cheapest, so numbers come early.
3. **Run** each chunk and grade it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from sonde.backends.base import FromRun, Patch, Row, Scores
from sonde.backends.torch.cells import CellPlan, Placed, Sources, place, plan_cell
from sonde.backends.torch.memory import out_of_memory
from sonde.backends.torch.sources import CapturedRun, changes_nothing, gather
from sonde.backends.torch.trace import Trace
from sonde.errors import OutOfMemory

Runs = Callable[[set[str]], Mapping[str, CapturedRun]]
"""Names -> the runs, read anew each time, so that a dropped run is noticed."""
Fits = Callable[[int, int], bool]
"""(cells, rows) -> whether so many may run together."""


class Run(Protocol):
    """A chunk of cells on its way through the layers: packed, or whole sequences."""

    cells: list[CellPlan]

    def final(self) -> Tensor:
        """The last position's residual after the last layer, per cell."""
        ...


@dataclass(frozen=True)
class Prompt:
    """What scoring needs to know about one prompt on one model."""

    trace: Trace
    n_layers: int
    start: Callable[[Trace, Sequence[CellPlan], Sources], Run]
    grade: Callable[[Tensor], Tensor]
    """Final residuals [n, width] -> log-probabilities [n, ids]."""
    local: bool = True
    """See `plan_cell`."""


def unsettled(
    prompt: Prompt, rows: Sequence[Row], runs: Runs, at_once: int = 4096
) -> list[CellPlan]:
    """The rows that need work, scheduled; the others have the baseline's answer, exactly.

    The sources of `at_once` patches exist at a time.
    """
    patches = [patch for row in rows for patch in row.patches]
    compared = [
        _same(prompt.trace, patches[start : start + at_once], runs)
        for start in range(0, len(patches), at_once)
    ]
    planned = [_cell(index, row, prompt) for index, row in enumerate(rows)]  # as a GPU compares
    same = iter([answer for part in compared for answer in part.tolist()])
    out: list[CellPlan] = []
    for row, cell in zip(rows, planned, strict=True):
        idle = all([next(same) for _ in row.patches])
        if cell is not None and (row.computed or not idle):
            out.append(cell)
    return out


def _same(trace: Trace, patches: Sequence[Patch], runs: Runs) -> Tensor:
    sources = gather(patches, runs(run_names(patches)), trace.residuals)
    return changes_nothing(patches, sources, trace)


def run_names(patches: Sequence[Patch]) -> set[str]:
    """The source runs that patches read."""
    return {p.source.run for p in patches if isinstance(p.source, FromRun)}


def _cell(index: int, row: Row, prompt: Prompt) -> CellPlan | None:
    """Schedule a row; one without patches recomputes the whole prompt."""
    placed = [place(patch, k) for k, patch in enumerate(row.patches)]
    n_tokens = len(prompt.trace.tokens)
    if not placed:
        return CellPlan(index, (), 0, 0, ())
    return plan_cell(index, placed, prompt.n_layers, n_tokens, local=prompt.local)


def chunks(cells: Sequence[CellPlan], n_tokens: int, fits: Fits) -> Iterator[list[CellPlan]]:
    """Cells in chunks, each as large as fits."""
    chunk: list[CellPlan] = []
    n_cells = n_rows = 0
    for cell in sorted(cells, key=lambda cell: -cell.joins):
        size, count = n_tokens - cell.first, cell.n_sources
        if chunk and not fits(n_cells + count, n_rows + size):
            yield chunk
            chunk, n_cells, n_rows = [], 0, 0
        chunk.append(cell)
        n_cells += count
        n_rows += size
    if chunk:
        yield chunk


@dataclass(frozen=True)
class Pending:
    """A chunk that has been started; on a GPU it may still be running."""

    rows: tuple[int, ...]
    logprobs: Tensor
    """On the CPU, or about to be: there once `arrived` has happened."""
    arrived: torch.cuda.Event | None = None

    def scores(self) -> Scores:
        """Wait for it, and for nothing that was started after it."""
        if self.arrived is not None:
            self.arrived.synchronize()
        return Scores(self.rows, self.logprobs.double().numpy(), computed=len(self.rows))


def on_its_way(rows: tuple[int, ...], logprobs: Tensor) -> Pending:
    """Have the numbers sent as soon as they are made, and not when they are asked for."""
    if logprobs.device.type != "cuda":
        return Pending(rows, logprobs.cpu())
    sent = torch.empty_like(logprobs, device="cpu", pin_memory=True)
    sent.copy_(logprobs, non_blocking=True)
    arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]
    arrived.record()
    return Pending(rows, sent, arrived)


def start_chunk(prompt: Prompt, rows: Sequence[Row], chunk: list[CellPlan], runs: Runs) -> Pending:
    """Run one chunk and grade it."""
    patches = [patch for cell in chunk for patch in rows[cell.row].patches]
    trace = prompt.trace
    sources = (
        gather(patches, runs(run_names(patches)), trace.residuals)
        if patches
        else Sources(trace.residuals[0, :0], None)
    )
    with torch.inference_mode():
        run = prompt.start(trace, _renumbered(chunk, rows), sources)
        logprobs = prompt.grade(run.final())
        return on_its_way(tuple(cell.row for cell in run.cells), logprobs)


def start_or_halve(
    prompt: Prompt, rows: Sequence[Row], chunk: list[CellPlan], runs: Runs
) -> Iterator[Pending]:
    """One chunk; when memory runs out, its halves instead. No number depends on the chunking."""
    try:
        started = start_chunk(prompt, rows, chunk, runs)
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        if len(chunk) == 1:
            raise OutOfMemory from error
    else:
        yield started
        return
    middle = len(chunk) // 2
    yield from start_or_halve(prompt, rows, chunk[:middle], runs)
    yield from start_or_halve(prompt, rows, chunk[middle:], runs)


def _renumbered(chunk: list[CellPlan], rows: Sequence[Row]) -> list[CellPlan]:
    """The cells with their patches' sources counted within the chunk."""
    out, base = [], 0
    for cell in chunk:
        patches = tuple(
            Placed(p.layer, p.inside, p.position, base + p.source) for p in cell.patches
        )
        out.append(CellPlan(cell.row, patches, cell.first, cell.joins, cell.alone))
        base += len(rows[cell.row].patches)
    return out


def settled(
    rows: Sequence[Row], cells: Sequence[CellPlan], baseline: Sequence[float]
) -> Scores | None:
    """The answer of all rows that need no work: the baseline's log-probabilities."""
    busy = {cell.row for cell in cells}
    idle = tuple(i for i in range(len(rows)) if i not in busy)
    if not idle:
        return None
    return Scores(idle, np.tile(np.array(baseline, dtype=np.float64), (len(idle), 1)), computed=0)
