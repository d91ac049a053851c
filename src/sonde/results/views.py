"""One table as a picture shows it: rows by columns, and the name of every place on either side.

Whatever the axes are, a drawing knows only these two sides. The last of several axes goes along the
columns, and the others together make the rows; a table of one axis is a single column.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.results.tokens import token_label, visible
from sonde.schema import Hook
from sonde.schema.table import Axis, AxisName, Table, TableMetric

Values = NDArray[np.float64]
EDGES: Final = "edges"


class Coordinate(NamedTuple):
    """A place on one axis."""

    axis: AxisName
    value: int | str
    label: str
    """The raw text: for a position, its token."""

    def __str__(self) -> str:
        """`layer 12`."""
        return f"{self.axis} {self.value}"

    @property
    def is_token(self) -> bool:
        """Whether the label is a token's text, in which a space is a sign."""
        return self.axis == "position"

    @property
    def shown(self) -> str:
        """The label for people."""
        return token_label(self.label) if self.is_token else visible(self.label)

    @property
    def words(self) -> str | None:
        """What the label says beyond the value, for people; None where it says nothing."""
        return self.shown if self.is_token or self.label != str(self.value) else None

    @property
    def said(self) -> str:
        """The words inside a sentence: other people's in quotation marks, ours in brackets."""
        if self.words is None:
            return ""
        return f"({self.words})" if self.axis in ("layer", "head") else f"“{self.words}”"


Coordinates = tuple[Coordinate, ...]
"""A coordinate on each of some axes."""


def in_words(place: Coordinates) -> str:
    """`layer 12, position 4 “·Colosseum”`."""
    return ", ".join(f"{each} {each.said}" if each.words else str(each) for each in place)


def briefly(place: Coordinates) -> str:
    """`layer 12, “·Colosseum”`: words where there are some, else numbers."""
    return ", ".join(each.said if each.said.startswith("“") else str(each) for each in place)


@dataclass(frozen=True)
class Side:
    """The rows of a picture, or its columns."""

    axes: tuple[Axis, ...]

    @property
    def name(self) -> str:
        """What it counts: `layer`, `layer.head`, or nothing where the picture has one column."""
        return ".".join(axis.name for axis in self.axes)

    @cached_property
    def places(self) -> list[Coordinates]:
        """Every place, in order."""
        return list(product(*map(_coordinates, self.axes)))

    @cached_property
    def labels(self) -> list[str]:
        """What is written beside each place."""
        return [".".join(each.shown for each in place) for place in self.places]

    def __len__(self) -> int:
        return prod(len(axis.values) for axis in self.axes)


@dataclass(frozen=True)
class TableView:
    """The numbers of one metric of one table."""

    hook: Hook
    axes: tuple[Axis, ...]
    values: Values
    """An array with a dimension for each axis; NaN where there is no number."""

    @classmethod
    def of(cls, table: Table, metric: TableMetric) -> "TableView":
        """The metric's numbers in their shape."""
        shape = [len(axis.values) for axis in table.axes]
        values = np.array(table.values[metric], dtype=np.float64).reshape(shape)
        values.flags.writeable = False
        return cls(table.hook, tuple(table.axes), values)

    @property
    def name(self) -> str:
        """What is written above it: the hook, or, of senders by receivers, what joins them."""
        return EDGES if any(axis.name == "sender" for axis in self.axes) else self.hook

    @cached_property
    def rows(self) -> Side:
        """What goes up the picture, from the bottom."""
        return Side(self.axes[:1] if len(self.axes) < 2 else self.axes[:-1])

    @cached_property
    def columns(self) -> Side:
        """What goes along it."""
        return Side(self.axes[1:] if len(self.axes) < 2 else self.axes[-1:])

    @cached_property
    def picture(self) -> Values:
        """[rows, columns]."""
        return self.values.reshape(len(self.rows), len(self.columns))


class FoundCell(NamedTuple):
    """One cell that stands out, and where."""

    panel: int
    """Which of the pictures it is in."""
    row: int
    column: int
    hook: Hook
    place: Coordinates
    value: float

    @property
    def name(self) -> str:
        """What its picture is called."""
        return self.hook if self.at("sender") is None else EDGES

    def at(self, axis: AxisName) -> Coordinate | None:
        """Where it is on one axis; None where the table has no such axis."""
        return next((each for each in self.place if each.axis == axis), None)

    def __str__(self) -> str:
        """`post_block, layer 12, position 4 “·Colosseum”`."""
        return ", ".join(part for part in (self.name, in_words(self.place)) if part)


def alike(views: Sequence[TableView]) -> list[list[int]]:
    """Numbers of the pictures that have the same sides: these can stand side by side."""
    groups: list[list[int]] = []
    for n, view in enumerate(views):
        for group in groups:
            if views[group[0]].axes == view.axes:
                group.append(n)
                break
        else:
            groups.append([n])
    return groups


def _coordinates(axis: Axis) -> list[Coordinate]:
    both = zip(axis.values, axis.labels, strict=True)
    return [Coordinate(axis.name, value, label) for value, label in both]
