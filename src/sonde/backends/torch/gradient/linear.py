"""Rows to first order: what each would change, times the gradient of what is read.

A write says what it would put at its site, exactly as the packed path reads it (`sources`): what
stands there is known from the unpatched run, so the change is known without running the row. One
gradient then answers all rows of a prompt, whatever their axes are: sites, heads, features.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np
import torch
from torch import Tensor

from sonde.backends.base import FromSenders, Row, Scores, Slope, Write
from sonde.backends.blending import written
from sonde.backends.check import check_tokens, check_work
from sonde.backends.torch.edges.frozen import Frozen
from sonde.backends.torch.edges.scoring import SEEN, has_senders
from sonde.backends.torch.gradient.edges import edge_slopes
from sonde.backends.torch.gradient.slopes import Gradients, gradients
from sonde.backends.torch.packed import scoring
from sonde.backends.torch.packed.readouts import Distribution
from sonde.backends.torch.packed.sources import check_lengths, gather, standing
from sonde.backends.torch.packed.trace import Trace
from sonde.backends.torch.packed.traces import Traces
from sonde.backends.torch.path import Path
from sonde.errors import BadRequest
from sonde.schema import ModelDescription

FLOATS: Final = 8 * 2**20
"""Numbers of writes that are laid side by side at a time."""

Readers = tuple[int, ...] | None


@dataclass(frozen=True)
class Linear:
    """Answers slopes on one model as it is now."""

    path: Path
    model: ModelDescription
    traces: Traces
    reader: Callable[[Iterable[Write]], scoring.Runs]

    def linearise(self, asked: Iterable[Slope]) -> Iterator[Scores]:
        """How far every row moves each of its sums: [rows, sums], prompt by prompt."""
        for number, slope in enumerate(asked):
            self._check(slope)
            values = self._values(slope)
            yield Scores(tuple(range(len(values))), values, len(values), number)

    def _check(self, slope: Slope) -> None:
        check_work(slope.work, self.model)
        if slope.toward is not None:
            check_tokens(slope.toward, self.model)
        if slope.steps < 1:
            raise BadRequest(f"{slope.steps} steps on the way between prompts; take 1 or more")

    def _values(self, slope: Slope) -> np.ndarray:
        out = torch.zeros(len(slope.work.rows), len(slope.weights), dtype=torch.float64)
        edges = [*map(has_senders, slope.work.rows)]
        if any(edges):
            out += self._edges(slope)
            each = zip(slope.work.rows, edges, strict=True)
            rows = [_plain(row) if is_edge else row for row, is_edge in each]
            slope = replace(slope, work=replace(slope.work, rows=rows))
        work = slope.work
        writes = [write for row in work.rows for write in row.writes]
        if not writes:
            return np.asarray(out.numpy())
        hooks = list(dict.fromkeys(write.site.hook for write in writes))
        self.traces.prepare(self.path, [work.tokens], hooks)
        trace = self.traces[tuple(work.tokens)]
        places = list(dict.fromkeys((write.site.hook, write.site.layer) for write in writes))
        found = gradients(self.path, slope, places, self._distribution)
        slopes = Gradients(found, self.model.n_layers, self.model.heads)
        runs = self.reader(writes)
        with torch.inference_mode():
            for first, some in self._portions(work.rows):
                for readers, numbers, mine in _by_readers(some):
                    moved = _moved(mine, trace, runs, partial(slopes.of, readers=readers), out)
                    out.index_add_(0, torch.from_numpy(numbers + first), moved)
        return np.asarray(out.numpy())

    def _edges(self, slope: Slope) -> Tensor:
        """How far each row's edges move every sum: [rows, sums]."""
        out = torch.zeros(len(slope.work.rows), len(slope.weights), dtype=torch.float64)
        ends = [
            (number, write)
            for number, row in enumerate(slope.work.rows)
            for write in row.writes
            if isinstance(write.source, FromSenders)
        ]
        self.traces.prepare(self.path, [slope.work.tokens], SEEN)
        frozen = Frozen(self.path, self.traces[tuple(slope.work.tokens)])
        writes = [write for _, write in ends]
        moved = edge_slopes(self.path, slope, writes, frozen, self.reader, self._distribution)
        out.index_add_(0, torch.tensor([number for number, _ in ends]), moved)
        return out

    def _portions(self, rows: Sequence[Row]) -> Iterator[tuple[int, Sequence[Row]]]:
        """Some rows at a time, as many as fit, with the number of the first."""
        room = max(FLOATS // self.model.width, 1)
        first = size = 0
        for number, row in enumerate(rows):
            n = sum([len(write.site.positions) for write in row.writes])
            if size and size + n > room:
                yield first, rows[first:number]
                first, size = number, 0
            size += n
        yield first, rows[first:]

    @torch.inference_mode()
    def _distribution(self, tokens: tuple[int, ...]) -> Distribution:
        """The last distribution of an unpatched prompt."""
        self.traces.prepare(self.path, [tokens], ())
        final = self.traces[tokens].last()[None]
        logits, normaliser = self.path.unembedding.distribution(final)
        return Distribution(logits[0], normaliser[0])


def _plain(row: Row) -> Row:
    """A row without its edges."""
    return Row(tuple([w for w in row.writes if not isinstance(w.source, FromSenders)]))


def _by_readers(
    rows: Sequence[Row],
) -> Iterator[tuple[Readers, np.ndarray, list[Write]]]:
    """Writes that the same heads see, and the row of each of their positions."""
    groups: dict[Readers, list[tuple[int, Write]]] = defaultdict(list)
    for number, row in enumerate(rows):
        for write in row.writes:
            groups[write.site.readers].append((number, write))
    for readers, group in groups.items():
        counts = [len(write.site.positions) for _, write in group]
        numbers = np.repeat(np.array([number for number, _ in group], dtype=np.int64), counts)
        yield readers, numbers, [write for _, write in group]


def _moved(
    some: Sequence[Write],
    trace: Trace,
    runs: scoring.Runs,
    slope: Callable[..., Tensor],
    like: Tensor,
) -> Tensor:
    """How far each position of each write moves every sum: [positions, sums]."""
    held = runs(scoring.run_names(some))
    check_lengths(some, held, trace)
    sources = gather(some, held, trace.residuals)
    current = standing(some, trace.at, sources.values)
    after = written(current, sources.values, sources.weight, sources.adds)
    change = after.float() - current.float()
    out = torch.zeros(len(change), like.shape[1], dtype=like.dtype)
    for which in range(like.shape[1]):
        known = standing(some, partial(slope, which=which), change)
        out[:, which] = (change * known.float()).sum(-1).to(out)
    return out
