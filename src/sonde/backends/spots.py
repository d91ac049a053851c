"""Writes taken apart: one position at a time, and each source as a sum of what is stored or given.

A write may cover several positions and its source may be a difference or a mean of others. What
every backend does in the end is simpler: at one position, put down a sum of a few vectors.
"""

from collections.abc import Iterable
from typing import NamedTuple

from sonde.backends.base import FromRun, FromSenders, FromVector, MeanOf, Minus, Source, Write
from sonde.errors import BadRequest
from sonde.schema import Hook


class Spot(NamedTuple):
    """One position of one write."""

    hook: Hook
    layer: int
    position: int
    head: int | None
    write: Write
    which: int
    """Which of the write's positions."""
    readers: tuple[int, ...] | None = None


def spots(writes: Iterable[Write]) -> list[Spot]:
    """Every position of every write, in order."""
    out = []
    for write in writes:
        hook, layer, positions, head, readers = (
            write.site.hook, write.site.layer, write.site.positions, write.site.head,
            write.site.readers,
        )  # fmt: skip
        for which, position in enumerate(positions):
            out.append(Spot(hook, layer, position, head, write, which, readers))
    return out


class Term(NamedTuple):
    """One summand of a source: `sign * value / of`."""

    source: FromRun | FromVector
    sign: int = 1
    of: int = 1
    """How many summands a mean has."""


def terms(source: Source, sign: int = 1, of: int = 1) -> list[Term]:
    """A source as a sum."""
    if isinstance(source, Minus):
        return terms(source.left, sign, of) + terms(source.right, -sign, of)
    if isinstance(source, MeanOf):
        if not source.sources:
            raise BadRequest("the mean of no sources; name at least one")
        n = of * len(source.sources)
        return [term for each in source.sources for term in terms(each, sign, n)]
    if isinstance(source, FromSenders):
        raise BadRequest(
            "edges are computed by the torch backend alone, and from senders alone: load the model "
            "with backend='torch', and write no sum of what senders change"
        )
    return [Term(source, sign, of)]


def runs_in(writes: Iterable[Write]) -> dict[str, int | None]:
    """The source runs that writes read, each with the generation that is meant."""
    found: dict[str, int | None] = {}
    for write in writes:
        source = write.source
        if isinstance(source, FromRun):  # nearly always, and there are thousands
            found[source.run] = source.generation
            continue
        if isinstance(source, FromSenders):
            found |= runs_in(source.writes)
            continue
        for term in terms(source):
            if isinstance(term.source, FromRun):
                found[term.source.run] = term.source.generation
    return found
