"""Rows of edges become rows of vectors: whatever runs rows needs to know nothing of senders.

What the receivers have is made a share of a prompt's rows at a time, so that memory does not grow
with the number of edges.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import torch

from sonde.backends.base import FromSenders, FromVector, Row, Scores, Site, Work, Write
from sonde.backends.check import check_work
from sonde.backends.torch.edges.frozen import Frozen
from sonde.backends.torch.edges.receivers import received
from sonde.backends.torch.edges.senders import taken_apart
from sonde.backends.torch.packed.scoring import Runs
from sonde.backends.torch.packed.traces import Traces
from sonde.backends.torch.path import Path
from sonde.schema import HOOK_TABLE, Hook, ModelDescription

FLOATS: Final = 16 * 2**20
"""Numbers that the vectors of a share have, about."""
SEEN: Final[tuple[Hook, ...]] = ("z", "q", "k", "v", "mlp_out")
"""What has to be known of a prompt's unpatched run."""


@dataclass(frozen=True)
class Edges:
    """Puts vectors in the place of what senders change, on one model as it is now."""

    path: Path
    model: ModelDescription
    traces: Traces
    reader: Callable[[Iterable[Write]], Runs]

    def score(
        self, work: Iterable[Work], score: Callable[[Iterable[Work]], Iterator[Scores]]
    ) -> Iterator[Scores]:
        """What `score` tells of rows, those of edges among them."""
        origins: list[tuple[int, int]] = []

        def shares() -> Iterator[Work]:
            for number, each in enumerate(work):
                for first, share in self.shares(each):
                    origins.append((number, first))
                    yield share

        for scores in score(shares()):
            number, first = origins[scores.work]
            rows = tuple([row + first for row in scores.rows]) if first else scores.rows
            yield replace(scores, rows=rows, work=number)

    def shares(self, work: Work) -> Iterator[tuple[int, Work]]:
        """Some of the rows at a time, without senders, with the number of the first."""
        if not any(map(has_senders, work.rows)):
            yield 0, work
            return
        check_work(work, self.model)
        first = size = 0
        for number, row in enumerate(work.rows):
            more = sum([self._floats(write.site) for write in row.writes])
            if size and size + more > FLOATS:
                yield first, self._share(work, work.rows[first:number])
                first, size = number, 0
            size += more
        yield first, self._share(work, work.rows[first:])

    def reckoned(self, work: Work) -> Work:
        """The same rows, whose sources are not looked at."""
        if not any(map(has_senders, work.rows)):
            return work
        check_work(work, self.model)
        rows = [
            Row(tuple([self._stand_in(write) for write in row.writes]), row.computed)
            for row in work.rows
        ]
        return replace(work, rows=rows)

    def _share(self, work: Work, rows: Sequence[Row]) -> Work:
        """Some rows, with what their receivers have."""
        writes = [w for row in rows for w in row.writes if isinstance(w.source, FromSenders)]
        if not writes:
            return replace(work, rows=rows)
        self.traces.prepare(self.path, [work.tokens], SEEN)
        frozen = Frozen(self.path, self.traces[tuple(work.tokens)])
        with torch.inference_mode():
            sent = taken_apart(writes, frozen, self.reader)
            values = [value.float().cpu().numpy() for value in received(writes, sent, frozen)]
        made = iter(values)

        def put(write: Write) -> Write:
            if not isinstance(write.source, FromSenders):
                return write
            return replace(write, source=FromVector(np.asarray(next(made), dtype=np.float32)))

        return replace(
            work,
            rows=[Row(tuple([put(write) for write in row.writes]), row.computed) for row in rows],
        )

    def _floats(self, site: Site) -> int:
        return len(site.positions) * self._width(site.hook)

    def _width(self, hook: Hook) -> int:
        if HOOK_TABLE[hook].per == "model":
            return self.model.width
        assert self.model.heads is not None
        return self.model.heads.width(hook, 0)

    def _stand_in(self, write: Write) -> Write:
        if not isinstance(write.source, FromSenders):
            return write
        nothing = np.zeros(self._width(write.site.hook), dtype=np.float32)
        return replace(write, source=FromVector(nothing))


def has_senders(row: Row) -> bool:
    """Whether a row ends an edge."""
    return any([isinstance(write.source, FromSenders) for write in row.writes])
