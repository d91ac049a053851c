"""Scores work on one model as it is now: windows of prompts, chunks of cells, readouts.

1. **Window**   prompts whose cells share chunks, run unpatched side by side (`windows`, `traces`).
2. **Compare**  what writes put down with what is there: rows that change nothing need no work.
3. **Chunk**    the cells that are left, as many as fit the memory budget (`scoring`, `memory`): by
                a rough bound, and where that does not suffice by the measured peak.
4. **Read out** what comes of each chunk (`readouts`), while the next one is prepared on a GPU.

Made anew when the weights change, so nothing here is older than they are.

Planning makes some ten small objects a cell, none of them garbage before the sweep is over. The
garbage collector looks through all of them again and again, which took a quarter of the time that a
sweep over many short prompts takes on a GPU; so it is put off while cells are planned.
"""

import gc
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor
from transformers import PreTrainedModel

from sonde.backends.base import Cost, Readout, Scores, Work, Write, logprobs_of
from sonde.backends.check import check_tokens
from sonde.backends.torch.cpu.threads import one_thread_each
from sonde.backends.torch.packed import scoring
from sonde.backends.torch.packed.cells import PackedCell, Sources
from sonde.backends.torch.packed.joint import NotAlike, joined
from sonde.backends.torch.packed.memory import (
    ChunkBytes,
    largest_chunk,
    measure,
    peak_bytes,
    rough_cell_bytes,
    rough_row_bytes,
)
from sonde.backends.torch.packed.readouts import Distribution, read_out
from sonde.backends.torch.packed.trace import Trace
from sonde.backends.torch.packed.traces import Traces
from sonde.backends.torch.packed.windows import together
from sonde.backends.torch.path import Path
from sonde.schema import Hook, ModelDescription

T = TypeVar("T")


class Scorer:
    """Rows of prompts to what their readouts tell."""

    def __init__(
        self,
        path: Path,
        model: ModelDescription,
        traces: Traces,
        budget: int,
        reader: Callable[[Iterable[Write]], scoring.Runs],
    ) -> None:
        """`budget` bounds the working memory in bytes; `reader` reads the runs of some writes."""
        self._path, self._model, self._traces = path, model, traces
        self._budget, self._reader = budget, reader
        self._chunk_bytes: dict[int, ChunkBytes] = {}
        self._rate = path.token_layers_per_second

    def prepare(self, prompts: Sequence[Sequence[int]], hooks: Sequence[Hook]) -> None:
        """Run prompts side by side, so that the weights are read once for all of them."""
        for tokens in prompts:
            check_tokens(tokens, self._model)
        self._traces.prepare(self._path, prompts, hooks)

    def baselines(
        self, asked: Sequence[tuple[Sequence[int], Readout]], hooks: Sequence[Hook]
    ) -> list[list[float]]:
        """The readout of each unpatched prompt."""
        self.prepare([tokens for tokens, _ in asked], hooks)
        keys = [(tuple(tokens), readout) for tokens, readout in asked]
        told = self._traces.told
        if not all(key in told for key in keys):
            told.update(zip(keys, self._read_unpatched(keys), strict=True))
        return [told[key] for key in keys]

    @torch.inference_mode()
    def _read_unpatched(
        self, asked: Sequence[tuple[tuple[int, ...], Readout]]
    ) -> list[list[float]]:
        prompts = [
            scoring.Prompt(i, Work(tokens, (), readout), self._traces[tokens])
            for i, (tokens, readout) in enumerate(asked)
        ]
        final = torch.cat([p.trace.residuals[-1][list(p.reads)] for p in prompts])
        values = self._read(final, prompts).double().tolist()
        return [row[: len(p.work.readout.columns)] for row, p in zip(values, prompts, strict=True)]

    def _read(self, final: Tensor, prompts: Sequence[scoring.Prompt]) -> Tensor:
        """What the readouts of cells tell; `prompts` has each cell's."""
        readouts = [prompt.work.readout for prompt in prompts]
        reads = [prompt.reads for prompt in prompts]
        return read_out(self._path.unembedding, final, readouts, reads, self.distribution)

    def distribution(self, tokens: tuple[int, ...]) -> Distribution:
        """The last distribution of an unpatched prompt."""
        self.prepare([tokens], ())
        final = self._traces[tokens].last()[None]
        logits, normaliser = self._path.unembedding.distribution(final)
        return Distribution(logits[0], normaliser[0])

    def score(self, work: Iterable[Work]) -> Iterator[Scores]:
        """The readout of every row of every prompt; rows of several share chunks."""
        waiting: scoring.Pending | None = None
        for compared, runs in _next_by_next(self._compared(work)):
            with put_off():
                window, cells = compared.window, compared.unsettled()
            yield from self._settled(window, cells)
            chunks = self._run_chunks(window, cells, runs)
            if self._path.on_cpu:
                for started in chunks:
                    yield from started.scores()
                continue
            for started in _next_by_next(chunks):
                if waiting is not None:
                    yield from waiting.scores()
                waiting = started
        if waiting is not None:
            yield from waiting.scores()

    def _compared(self, work: Iterable[Work]) -> Iterator[tuple[scoring.Compared, scoring.Runs]]:
        """Windows of prompts, run unpatched, with what their writes change on its way.

        On a GPU one window ahead: what the host plans next then waits for no chunk of this one.
        """
        ahead: deque[tuple[scoring.Compared, scoring.Runs]] = deque()
        for window, runs in self._windows(work):
            room = max(0, self._budget - self._held()) // source_bytes(self._path.model)
            ahead.append((scoring.compare(window, runs, min(max(room, 16), 4096)), runs))
            if self._path.on_cpu or len(ahead) > 1:
                yield ahead.popleft()
        yield from ahead

    def _settled(self, window: scoring.Window, cells: Sequence[PackedCell]) -> Iterator[Scores]:
        """The rows that need no work, prompt by prompt."""
        busy: dict[int, set[int]] = defaultdict(set)
        for cell in cells:
            busy[cell.prompt].add(cell.row)
        for index, prompt in enumerate(window.prompts):
            if len(busy[index]) < len(prompt.work.rows):
                [told] = self.baselines([(prompt.work.tokens, prompt.work.readout)], [])
                idle = scoring.settled(prompt.work.rows, busy[index], told, prompt.number)
                assert idle is not None
                yield idle

    def _windows(
        self, work: Iterable[Work], *, read: bool = True
    ) -> Iterator[tuple[scoring.Window, scoring.Runs]]:
        """Prompts that are run together, and what reads their sources, unless nothing will."""
        for some in together(work, self._path, self._model):
            try:
                yield self._begin(some, read=read)
            except NotAlike:  # each by itself, then
                for one in some:
                    yield self._begin([one], read=read)

    def _run_chunks(
        self, window: scoring.Window, cells: Sequence[PackedCell], runs: scoring.Runs
    ) -> Iterator[scoring.Pending]:
        """Start chunk after chunk; on a GPU the next is prepared while the last one runs."""
        for chunk in self._chunks(window, cells):
            began = time.perf_counter()
            for started in scoring.start_or_halve(window, chunk, runs):
                if self._path.on_cpu:
                    self._learn_rate(window, chunk, time.perf_counter() - began)
                yield started

    def _chunks(
        self, window: scoring.Window, cells: Sequence[PackedCell]
    ) -> Iterator[list[PackedCell]]:
        if not cells:
            return iter(())
        even = None if self._path.on_cpu else self._path.shape.most
        return scoring.chunks(cells, window.n_tokens, self._fits(window), even)

    def cost(self, work: Iterable[Work]) -> Cost:
        """What scoring would take, without doing it. Sources are not looked at."""
        total = Cost(0, 0, 0, 0.0, 0)
        for window, _ in self._windows(work, read=False):
            cells = scoring.planned(window)
            needed, bytes_of = self._work(window, cells), self._chunk_cost(window)
            chunks = list(self._chunks(window, cells))
            sizes = [
                (sum(c.n_sources for c in some), sum(window.n_tokens(c) - c.first for c in some))
                for some in chunks
            ]
            most = max((bytes_of.of(count, rows) for count, rows in sizes), default=0)
            total = Cost(
                total.computed_rows + len(cells),
                total.token_layers + needed,
                max(total.working_bytes, self._held() + most),
                total.seconds + needed / self._rate,
                total.chunks + len(chunks),
            )
        return total

    def _begin(
        self, work: Sequence[tuple[int, Work]], *, read: bool
    ) -> tuple[scoring.Window, scoring.Runs]:
        """Run the prompts: what scoring their rows needs."""
        writes = [write for _, each in work for row in each.rows for write in row.writes]
        hooks = list(dict.fromkeys(write.site.hook for write in writes))
        self.prepare([each.tokens for _, each in work], hooks)
        prompts = [
            scoring.Prompt(number, each, self._traces[tuple(each.tokens)]) for number, each in work
        ]
        return self._window(prompts), self._reader(writes if read else ())

    def _window(self, prompts: Sequence[scoring.Prompt]) -> scoring.Window:
        return scoring.Window(
            prompts,
            joined([prompt.trace for prompt in prompts]),
            self._model.n_layers,
            self._path.start,
            self._read,
            self._path.local,
        )

    def _fits(self, window: scoring.Window) -> scoring.Fits:
        held = self._held()
        most, longest = self._path.shape.most, max(window.trace.lengths)
        if held + most * rough_bytes(self._path, window.trace) < self._budget:
            return lambda _cells, rows: rows <= most
        return largest_chunk(self._chunk_cost(window), self._budget, held, most, longest)

    def _chunk_cost(self, window: scoring.Window) -> ChunkBytes:
        """As of the longest prompt, for which it is measured."""
        longest = max(window.prompts, key=lambda prompt: len(prompt.trace.tokens))
        n_tokens = len(longest.trace.tokens)
        if n_tokens not in self._chunk_bytes:
            run = partial(peak_of_chunk, self._path, longest, self._read)
            self._chunk_bytes[n_tokens] = measure(run, n_tokens, self._path.shape.multiple)
        return self._chunk_bytes[n_tokens]

    def _held(self) -> int:
        """Bytes of the unpatched runs."""
        captured = 0 if self._path.graphs is None else self._path.graphs.nbytes()
        return captured + self._traces.nbytes()

    def _work(self, window: scoring.Window, cells: Sequence[PackedCell]) -> int:
        n_layers = len(self._path.layout.sites)
        return sum(cell.token_layers(n_layers, window.n_tokens(cell)) for cell in cells)

    def _learn_rate(
        self, window: scoring.Window, chunk: Sequence[PackedCell], seconds: float
    ) -> None:
        """Remember how fast this machine is, for the next estimate."""
        work = self._work(window, chunk)
        if work > 1000:
            self._rate = 0.5 * self._rate + 0.5 * work / seconds


def _next_by_next(items: Iterator[T]) -> Iterator[T]:
    """The items, each made without a search for garbage: thousands of cells are planned in one."""
    while True:
        with put_off():
            item = next(items, None)
        if item is None:
            return
        yield item


def rough_bytes(path: Path, trace: Trace) -> float:
    """More than one row of a chunk needs, when every row is a cell of its own."""
    if path.name != "packed":  # recurrent layers keep more than their weights tell
        return float("inf")
    heads = path.model.config.get_text_config().num_attention_heads
    per_row = rough_row_bytes(path.layout.sites[0].layer)
    return 2 * per_row + rough_cell_bytes(trace.keys_values[0].keys, heads, max(trace.lengths))


def peak_of_chunk(
    path: Path,
    prompt: scoring.Prompt,
    read: Callable[[Tensor, Sequence[scoring.Prompt]], Tensor],
    cells: int,
    first: int,
) -> int:
    """Peak memory of cells with suffixes from `first`, read out by `read`."""
    enters = max(len(path.layout.sites) - 2, 0) if path.name == "packed" else 0
    plans = [PackedCell(i, (), first, enters, ()) for i in range(cells)]
    nothing = Sources(prompt.trace.residuals[0, :0], None)
    launched = replace(path, graphs=None)
    last = scoring.Prompt(0, replace(prompt.work, readout=logprobs_of([0])), prompt.trace)
    with torch.inference_mode(), one_thread_each():  # what other threads do is out of sight
        batch = peak_bytes(
            lambda: launched.start(prompt.trace, plans, nothing).final(), path.model.device
        )
        final = prompt.trace.last().repeat(cells, 1)
        graded = peak_bytes(lambda: read(final, [last] * cells), path.model.device)
    return batch + graded + cells * source_bytes(path.model)


def source_bytes(model: PreTrainedModel) -> int:
    """What one write's source takes while it is gathered, weighed and put down."""
    width: int = model.config.get_text_config().hidden_size
    return 6 * 4 * width


@dataclass
class _Inside:
    """The collector is the whole process's, and so is the count of those who put it off."""

    count: int = 0
    was_on: bool = True
    lock: threading.Lock = field(default_factory=threading.Lock)


_inside = _Inside()


@contextmanager
def put_off() -> Iterator[None]:
    """Inside the block nothing is searched for garbage; what nobody refers to goes all the same.

    The last to leave puts back what the first one found.
    """
    with _inside.lock:
        if not _inside.count:
            _inside.was_on = gc.isenabled()
            gc.disable()
        _inside.count += 1
    try:
        yield
    finally:
        with _inside.lock:
            _inside.count -= 1
            if not _inside.count and _inside.was_on:
                gc.enable()
