"""One layer's features over the columns of an axis, from the sums of a part or from records.

Rows lie sorted by feature, so the rows of a few features are a few slices, and the totals of all
features are either in the index already (a part that is wholly inside the axis) or added up.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonde.runs.analytics.axis import Axis
from sonde.runs.analytics.parts import BLOCK_BITS, Part, indexed
from sonde.runs.analytics.stored import Rows, Stored
from sonde.schema.analytics import Ranking

OUTSIDE = -1
DENSE = 2**24
"""Dictionaries are not wider; numbers beyond are taken for what they are, but more slowly."""


@dataclass(frozen=True)
class FeatureSums:
    """Sums of one layer's features."""

    span: Rows
    """A row of `SPAN`."""
    stored: Stored
    columns: NDArray[np.int64]
    """Bin -> column, or `OUTSIDE`."""

    def of(self, wanted: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any], Rows]:
        """The rows of some features, given in order. -> feature, column and sums of each"""
        every, starts = self._entries("feature"), self._entries("start")
        place = np.minimum(np.searchsorted(every, wanted), len(every) - 1)
        place = place[every[place] == wanted]
        ends = np.append(starts, self.span["stop"])[place + 1]
        rows = self.stored.gather("rows", starts[place], ends)
        names = np.repeat(every[place], ends - starts[place])
        columns = self.columns[rows["bin"]]
        inside = columns != OUTSIDE
        return names[inside], columns[inside], rows[inside]

    def totals(self, by: Ranking) -> tuple[NDArray[Any], NDArray[Any]]:
        """What features add up to inside the axis. -> features in order, and the total of each"""
        inside = self.columns != OUTSIDE
        every = self._entries("feature")
        if inside.all():
            return every, self._entries(by)
        lengths = np.diff(np.append(self._entries("start"), self.span["stop"]))
        rows = self.stored.read("rows", int(self.span["row"]), int(self.span["stop"]))
        kept = inside[rows["bin"]]
        names = np.repeat(every, lengths)[kept]
        _, found = indexed(np.zeros(len(names), np.int32), names, rows[kept])
        return found.arrays["feature"], found.arrays[by]

    def _entries(self, name: str) -> Rows:
        return self.stored.read(name, int(self.span["first"]), int(self.span["end"]))


def of_part(part: Part, layer: int, at: Axis) -> FeatureSums | None:
    """A layer's features in one part; None where it has none."""
    span = part.span(layer)
    columns = bin_columns(part, at)
    if span is None or not (columns != OUTSIDE).any():
        return None
    return FeatureSums(span, part.stored, columns)


def bin_columns(part: Part, at: Axis) -> NDArray[np.int64]:
    """Which column each bin of a part is in, or `OUTSIDE`."""
    if at.unit == "step":
        number = part.bins["step"] >> at.level
        inside = np.ones(len(number), bool)
    else:
        number = part.bins["block"] >> max(at.level - BLOCK_BITS, 0)
        inside = part.bins["step"] == at.step
    column = number - at.first
    inside &= (column >= 0) & (column < at.columns)
    result: NDArray[np.int64] = np.where(inside, column, OUTSIDE)
    return result


def ranked(sources: Iterable[FeatureSums], by: Ranking) -> NDArray[np.int64]:
    """All features of some sums, the highest ranked first, equals by number."""
    totals = [source.totals(by) for source in sources]
    names = all_names(features for features, _ in totals)
    place = places_of(names)
    value = np.full(len(names), -np.inf if by == "high" else 0.0)
    for features, more in totals:
        where = place(features)  # each once in a source
        value[where] = np.maximum(value[where], more) if by == "high" else value[where] + more
    result: NDArray[np.int64] = names[np.lexsort((names, -value))]
    return result


def places_of(names: NDArray[np.int64]) -> Callable[[NDArray[Any]], NDArray[np.int64]]:
    """A function from features to their places in a sorted list that has them all."""
    if not len(names) or names[-1] >= DENSE:
        return lambda wanted: np.searchsorted(names, wanted)
    place = np.zeros(names[-1] + 1, np.int64)
    place[names] = np.arange(len(names))
    return lambda wanted: place[wanted]


def all_names(each: Iterable[NDArray[Any]]) -> NDArray[np.int64]:
    """Every feature that is in one of some sorted lists, in order."""
    lists = [np.asarray(names) for names in each if len(names)]
    most = max((int(names[-1]) for names in lists), default=-1)
    if most >= DENSE:
        return np.unique(np.concatenate(lists)).astype(np.int64)
    seen = np.zeros(most + 1, bool)
    for names in lists:
        seen[names] = True
    found: NDArray[np.int64] = np.flatnonzero(seen)
    return found


def counted(features: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different ones among some features, in order, and how often each is there."""
    if len(features) and features.max() >= DENSE:
        names, counts = np.unique(features, return_counts=True)
        return names.astype(np.int64), counts
    every = np.bincount(features)
    names = np.flatnonzero(every)
    return names, every[names]
