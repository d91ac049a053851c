"""The rows of some prompts as requests, and their answers as scores.

Each row that a write can change is a request of its own. All others of a prompt share one: the
prompt unpatched, which answers for them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from sonde.backends.base import Row, Scores, Work
from sonde.backends.reach import positions_read, reaches
from sonde.backends.spots import spots
from sonde.backends.vllm.readouts import reads_prompt, told


@dataclass(frozen=True, eq=False)
class Ticket:
    """What one request is for."""

    number: int
    """Which of the caller's prompts."""
    work: Work
    rows: tuple[int, ...]
    """The rows that it answers."""
    row: Row
    """What is run: one of them, or the prompt unpatched."""
    computed: bool
    """Whether it is run for its own sake, and not for rows that need no work."""

    def first(self) -> int:
        """The first position that must be computed: what is below may come from the cache."""
        if reads_prompt(self.work):
            return 0
        last = len(self.work.tokens) - 1
        return min((spot.position for spot in spots(self.row.writes)), default=last)


def tickets(number: int, work: Work, n_layers: int) -> Iterator[Ticket]:
    """The requests that the rows of a prompt need."""
    reads = positions_read(work.readout, len(work.tokens))
    busy = [
        row.computed if not row.writes else reaches(spots(row.writes), reads, n_layers)
        for row in work.rows
    ]
    idle = tuple(i for i, needed in enumerate(busy) if not needed)
    if idle:
        yield unpatched(number, work, idle)
    for i, needed in enumerate(busy):
        if needed:
            yield Ticket(number, work, (i,), work.rows[i], computed=True)


def unpatched(number: int, work: Work, rows: tuple[int, ...]) -> Ticket:
    """The prompt without writes, as the answer for these rows."""
    return Ticket(number, work, rows, Row(), computed=False)


def scores_of(answered: Sequence[tuple[Ticket, Any]]) -> Iterator[Scores]:
    """Finished requests and vLLM's outputs, prompt by prompt."""
    ordered = sorted(answered, key=lambda one: (one[0].number, one[0].computed))
    for (number, computed), some in groupby(ordered, lambda one: (one[0].number, one[0].computed)):
        rows: list[int] = []
        values: list[list[float]] = []
        for ticket, output in some:
            rows += ticket.rows
            values += [told(output, ticket.work)] * len(ticket.rows)
        array = np.array(values, dtype=np.float64)
        yield Scores(tuple(rows), array, computed=len(rows) if computed else 0, work=number)
