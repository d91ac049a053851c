"""Score many patched runs of one or several prompts, in chunks that fit the memory they may use.

1. **Settle** the rows whose answer is the baseline's by construction: a write that leaves what is
   already there, or that nothing which is read can see. They need no work, and rows of several
   writes begin where the first of them changes something.
2. **Chunk** the rest. Cells of several prompts share chunks, so that many short prompts fill a
   batch as one long grid does. Cells of one length stay together, and those that enter late come
   first: they are the cheapest, so numbers come early.
3. **Run** each chunk and read it out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sonde.backends.base import Row, Scores, Work, Write
from sonde.backends.reach import positions_read
from sonde.backends.spots import runs_in
from sonde.backends.torch.packed.cells import (
    Ints,
    PackedCell,
    PlacedWrite,
    Sources,
    end_to_end,
    place,
    plan_cell,
    spread,
)
from sonde.backends.torch.packed.memory import out_of_memory
from sonde.backends.torch.packed.sources import CapturedRun, changes_nothing, check_lengths, gather
from sonde.backends.torch.packed.trace import Trace
from sonde.errors import OutOfMemory

Runs = Callable[[set[str]], Mapping[str, CapturedRun]]
"""Names -> the runs, read anew each time, so that a dropped run is noticed."""
Fits = Callable[[int, int], bool]
"""(cells, rows) -> whether so many may run together."""


class Run(Protocol):
    """A chunk of cells on its way through the layers: packed, or whole sequences."""

    cells: list[PackedCell]

    def final(self) -> Tensor:
        """What is read of each cell, after the last layer: [reads, width]."""
        ...


@dataclass(frozen=True)
class Prompt:
    """One prompt with its rows, run unpatched."""

    number: int
    """Which of the caller's."""
    work: Work
    trace: Trace

    @cached_property
    def reads(self) -> tuple[int, ...]:
        """The positions that are read, lowest first."""
        return positions_read(self.work.readout, len(self.trace.tokens))

    @property
    def several(self) -> bool:
        """Whether other positions than the last are read."""
        return self.reads != (len(self.trace.tokens) - 1,)

    @cached_property
    def n_sources(self) -> Ints:
        """How many positions the writes of each row have."""
        rows = self.work.rows
        return np.array([sum([len(w.site.positions) for w in row.writes]) for row in rows], int)


@dataclass(frozen=True)
class Window:
    """Some prompts whose cells share chunks."""

    prompts: Sequence[Prompt]
    trace: Trace
    """Their unpatched runs, end to end."""
    n_layers: int
    start: Callable[[Trace, Sequence[PackedCell], Sources], Run]
    read: Callable[[Tensor, Sequence[Prompt]], Tensor]
    """Final residuals [reads, width] and each cell's prompt -> its readout, [cells, columns]."""
    local: bool = True
    """See `plan_cell`."""

    def n_tokens(self, cell: PackedCell) -> int:
        """The length of a cell's prompt."""
        return len(self.prompts[cell.prompt].trace.tokens)

    def plan(
        self, row: int, patches: Sequence[PlacedWrite], prompt: Prompt, index: int
    ) -> PackedCell | None:
        """See `plan_cell`."""
        return plan_cell(
            row, patches, self.n_layers, prompt.reads,
            local=self.local, prompt=index, several=prompt.several,
        )  # fmt: skip


@dataclass(frozen=True)
class Compared:
    """For each prompt, which of its writes leave what is there: on a GPU, maybe still under way."""

    window: Window
    answers: Sequence[Sequence["Sent"]]

    def unsettled(self) -> list[PackedCell]:
        """The rows that need work, scheduled; the others have the baseline's answer, exactly."""
        out: list[PackedCell] = []
        planned = planned_rows(self.window)
        for prompt, cells, parts in zip(self.window.prompts, planned, self.answers, strict=True):
            same = [part.arrived().numpy() for part in parts]
            changed = ~np.concatenate([np.zeros(0, bool), *same])
            first = _first_changed(prompt, changed)
            for row, cell, at in zip(prompt.work.rows, cells, first.tolist(), strict=True):
                # Controls are run even where the answer is known, or they would prove nothing.
                if cell is not None and not row.computed and at > cell.first:
                    cell = self._since(cell, at, prompt)
                if cell is not None:
                    out.append(cell)
        return out

    def _since(self, cell: PackedCell, position: int, prompt: Prompt) -> PackedCell | None:
        """The row without its writes before the first position at which one changes anything.

        Up to there it is the unpatched run, in which they leave what is there.
        """
        if position == len(prompt.trace.tokens):
            return None
        patches = [each for patch in cell.patches for each in patch.since(position)]
        return self.window.plan(cell.row, patches, prompt, cell.prompt)


def _first_changed(prompt: Prompt, changed: NDArray[np.bool_]) -> Ints:
    """For each row, the lowest position that a write changes; the prompt's length if none does."""
    rows = prompt.work.rows
    owner, _ = spread(prompt.n_sources)
    positions = end_to_end([write.site.positions for row in rows for write in row.writes])
    first = np.full(len(rows), len(prompt.trace.tokens), dtype=np.int64)
    # `first[owner] = …` would keep one position of a row that writes several.
    np.minimum.at(first, owner[changed], positions[changed])
    return first


def compare(window: Window, runs: Runs, at_once: int = 4096) -> Compared:
    """Compare what writes put down with what is there; the sources of `at_once` exist at a time."""
    answers = []
    for prompt in window.prompts:
        writes = [write for row in prompt.work.rows for write in row.writes]
        parts = _parts(writes, at_once)
        answers.append([sent(_same(prompt.trace, part, runs)) for part in parts])
    return Compared(window, answers)


def _parts(writes: Sequence[Write], most: int) -> Iterator[list[Write]]:
    """Writes in groups that have so many positions together, or one write each."""
    some, n = list[Write](), 0
    for write in writes:
        count = len(write.site.positions)
        if some and n + count > most:
            yield some
            some, n = [], 0
        some.append(write)
        n += count
    if some:
        yield some


def planned_rows(window: Window) -> list[list[PackedCell | None]]:
    """Every row of every prompt, scheduled; None where nothing that is read can see it."""
    return [
        [_cell(number, row, prompt, index, window) for number, row in enumerate(prompt.work.rows)]
        for index, prompt in enumerate(window.prompts)
    ]


def planned(window: Window) -> list[PackedCell]:
    """All rows that what is read can see, whatever they write."""
    return [cell for cells in planned_rows(window) for cell in cells if cell is not None]


def _same(trace: Trace, some: Sequence[Write], runs: Runs) -> Tensor:
    held = runs(run_names(some))
    check_lengths(some, held, trace)
    return changes_nothing(some, gather(some, held, trace.residuals), trace)


def run_names(some: Sequence[Write]) -> set[str]:
    """The source runs that writes read."""
    return set(runs_in(some))


def _cell(number: int, row: Row, prompt: Prompt, index: int, window: Window) -> PackedCell | None:
    """Schedule a row; one without writes recomputes the whole prompt."""
    if not prompt.n_sources[number]:
        reads = prompt.reads if prompt.several else ()
        return PackedCell(number, (), 0, 0, (), index, reads)
    return window.plan(number, place(row.writes), prompt, index)


def chunks(
    cells: Sequence[PackedCell],
    n_tokens: Callable[[PackedCell], int],
    fits: Fits,
    even: int | None = None,
) -> Iterator[list[PackedCell]]:
    """Cells in chunks, each as large as fits.

    With `even`, a number of rows, they are cut to about the same size: on a GPU a last chunk of a
    few rows takes longer than its rows are worth.
    """
    chunk: list[PackedCell] = []
    n_cells = n_rows = 0
    if even is not None:
        total = sum([n_tokens(cell) - cell.first for cell in cells])
        even = -(-total // max(1, -(-total // even)))
    for cell in sorted(cells, key=lambda cell: (n_tokens(cell), -cell.joins)):
        size, count = n_tokens(cell) - cell.first, cell.n_sources
        over = even is not None and n_rows >= even
        if chunk and (over or not fits(n_cells + count, n_rows + size)):
            yield chunk
            chunk, n_cells, n_rows = [], 0, 0
        chunk.append(cell)
        n_cells += count
        n_rows += size
    if chunk:
        yield chunk


@dataclass(frozen=True)
class Sent:
    """Numbers on their way to the CPU, or there."""

    values: Tensor
    event: torch.cuda.Event | None = None

    def arrived(self) -> Tensor:
        """Wait for them, and for nothing that was started after them."""
        if self.event is not None:
            self.event.synchronize()
        return self.values


def sent(values: Tensor) -> Sent:
    """Have numbers sent as soon as they are made, and not when they are asked for."""
    if values.device.type != "cuda":
        return Sent(values.cpu())
    there = torch.empty_like(values, device="cpu", pin_memory=True)
    there.copy_(values, non_blocking=True)
    event = torch.cuda.Event()  # type: ignore[no-untyped-call]
    event.record()
    return Sent(there, event)


@dataclass(frozen=True)
class Pending:
    """A chunk that has been started; on a GPU it may still be running."""

    cells: Sequence[PackedCell]
    values: Sent
    prompts: Sequence[Prompt]

    def scores(self) -> Iterator[Scores]:
        """Wait for it; then prompt by prompt."""
        values = self.values.arrived().double().numpy()
        owners = np.array([cell.prompt for cell in self.cells])
        for index in dict.fromkeys(owners.tolist()):
            prompt, mine = self.prompts[index], np.flatnonzero(owners == index)
            rows = tuple([self.cells[i].row for i in mine.tolist()])
            told = values[mine][:, : len(prompt.work.readout.columns)]
            yield Scores(rows, told, len(rows), prompt.number)


def start_chunk(window: Window, chunk: list[PackedCell], runs: Runs) -> Pending:
    """Run one chunk and read it out."""
    # In the order in which `_renumbered` counts them.
    some = [w for cell in chunk for w in window.prompts[cell.prompt].work.rows[cell.row].writes]
    trace = window.trace
    sources = (
        gather(some, runs(run_names(some)), trace.residuals)
        if some
        else Sources(trace.residuals[0, :0], None)
    )
    with torch.inference_mode():
        run = window.start(trace, _renumbered(chunk, window), sources)
        values = window.read(run.final(), [window.prompts[cell.prompt] for cell in run.cells])
        return Pending(run.cells, sent(values), window.prompts)


def start_or_halve(window: Window, chunk: list[PackedCell], runs: Runs) -> Iterator[Pending]:
    """One chunk; when memory runs out, its halves instead. No number depends on the chunking."""
    try:
        started = start_chunk(window, chunk, runs)
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        if len(chunk) == 1:
            raise OutOfMemory from error
    else:
        yield started
        return
    # Outside the handler: its traceback would keep the tensors of the chunk that did not fit.
    middle = len(chunk) // 2
    yield from start_or_halve(window, chunk[:middle], runs)
    yield from start_or_halve(window, chunk[middle:], runs)


def _renumbered(chunk: list[PackedCell], window: Window) -> list[PackedCell]:
    """The cells with their writes' sources counted within the chunk."""
    counts = [window.prompts[cell.prompt].n_sources[cell.row] for cell in chunk]
    bases = (np.cumsum(counts) - counts).tolist()
    return [cell.moved(base) for cell, base in zip(chunk, bases, strict=True)]


def settled(
    rows: Sequence[Row], busy: set[int], baseline: Sequence[float], number: int = 0
) -> Scores | None:
    """The answer of all rows that need no work: the baseline's readout."""
    idle = tuple([i for i in range(len(rows)) if i not in busy])
    if not idle:
        return None
    values = np.tile(np.array(baseline, dtype=np.float64), (len(idle), 1))
    return Scores(idle, values, 0, number)
