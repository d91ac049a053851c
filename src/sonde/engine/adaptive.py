"""The strongest cells of a table that is too large to run whole.

1. **Follow** the first-order ranking from its top, some cells at a time, and with them the
   neighbours of the strongest found so far: effects lie together, in layers and in positions.
2. **Stop**   when a round changes none of the k strongest and all their neighbours are known.
3. **Draw**   a random sample of what is left. Where that holds a cell stronger than the k-th, the
   ranking was blind to something: go on from there, and draw again.

What the last sample says bounds the rest. Nothing else is claimed of cells that were not run.
"""

from collections.abc import Generator, Iterator
from typing import Final

import numpy as np

from sonde.engine.scored import Ran, Scored, drawn_from, strongest
from sonde.schema.table import TableVerifying

AGAIN: Final = 3
"""How often a sample may find the ranking blind."""
LEAST: Final = 32
"""Cells of a round, at least."""


def search(scored: Scored, k: int) -> Generator[TableVerifying, None, Ran]:
    """Run what is needed to find the k strongest cells. -> those looked for, and those drawn"""
    order = strongest(scored.changes).tolist()
    request = scored.setting.request
    k = max(min(k, len(order)), 1)
    drawn: list[int] = []
    for attempt in range(AGAIN):
        yield from _climb(scored, order, k)
        found = set(best(scored, k))
        left = [number for number in order if number not in scored.exact]
        drawn = drawn_from(left, request.sample, request.seed + attempt)
        yield from scored.run(drawn)
        if not set(best(scored, k)) - found:
            break
    else:
        yield from _climb(scored, order, k)
    sampled = set(drawn)
    looked_for = [number for number in order if number in scored.exact and number not in sampled]
    return Ran(looked_for, drawn)


def best(scored: Scored, k: int) -> list[int]:
    """The k strongest of the cells that were run."""
    numbers = np.array(sorted(scored.exact), dtype=np.int64)
    changes = np.array([scored.change(int(number)) for number in numbers])
    chosen: list[int] = numbers[np.argsort(-np.abs(changes), kind="stable")[:k]].tolist()
    return chosen


def _climb(scored: Scored, order: list[int], k: int) -> Iterator[TableVerifying]:
    """Down the ranking and around the strongest, until neither shows anything new."""
    size = max(2 * k, LEAST)
    before: list[int] | None = None
    while True:
        now = best(scored, k)
        around = {near for number in now for near in scored.neighbours(number)}
        todo = [number for number in around if number not in scored.exact]
        if now == before and not todo:
            return
        before = now
        ahead = (number for number in order if number not in scored.exact and number not in around)
        todo += [number for number, _ in zip(ahead, range(size), strict=False)]
        if not todo:
            return
        yield from scored.run(sorted(todo))
