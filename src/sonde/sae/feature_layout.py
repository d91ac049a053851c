"""The tables of a sweep over features, and the row behind every cell of them.

The first is of what was asked for: rows by columns, and everywhere. Others are for comparison, each
over the same rows and so many draws: what stands in a row's place is written everywhere.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from sonde.backends.base import Row, Site
from sonde.engine.columns import Column, Columns
from sonde.engine.trial import Panel
from sonde.sae.changes import Change, random_direction, sham
from sonde.schema.table import Axis, Table

EVERYWHERE: Final = "everywhere"
"""The last place of the position axis: all positions where a row writes, in one run."""

Laid = tuple[Table, Panel]


@dataclass(frozen=True, eq=False)
class FeatureLayout:
    """What all tables of one prompt have in common."""

    site: Site
    alpha: float
    rows: Sequence[Change]
    columns: Sequence[Column]
    written: frozenset[int]
    """Positions where anything can be written."""
    keeps: bool = False
    """Whether a cell that changes nothing is the baseline, because other prompts share the axes;
    otherwise it is null and not run."""

    @property
    def named(self) -> Columns:
        """The columns with everywhere, and where each is in this prompt."""
        last = Column(EVERYWHERE, EVERYWHERE, tuple(sorted(self.written)))
        return Columns([*self.columns, last], self._places())

    def cells(self) -> Laid:
        """Rows by columns, and everywhere."""
        shape = (len(self.rows), len(self.columns) + 1)

        def positions(place: tuple[int, ...]) -> Sequence[int]:
            here = place[1] < len(self.columns)
            return self.columns[place[1]].positions if here else list(self.rows[place[0]].amounts)

        def row_at(place: tuple[int, ...]) -> Row:
            return self.rows[place[0]].row(self.site, positions(place), self.alpha)

        told, absent = [], set()
        for number, place in enumerate(np.ndindex(shape)):
            row, where = self.rows[place[0]], positions(place)
            told.append(max((row.told.get(at, 0.0) for at in where), key=abs, default=0.0))
            seen = self.written.intersection(where) if self.keeps else row.among(where)
            if not seen and not (self.keeps and place[1] == len(self.columns)):
                absent.add(number)
        table = Table(
            hook=self.site.hook,
            axes=[self._features(self.rows), self._places()],
            values={},
            activations=told,
        )
        return table, Panel(shape, row_at, frozenset(absent))

    def random(self, draws: int, seed: int, n_features: int) -> Laid:
        """Rows by draws: a random direction in a row's place."""

        def row_at(place: tuple[int, ...]) -> Row:
            change = self.rows[place[0]]
            if not change.amounts:
                return Row()
            width = len(change.some_vector.values)
            key = change.value if isinstance(change.value, int) else n_features + place[0]
            made = sham(change, random_direction(width, seed, key, place[1]))
            return made.row(self.site, made.amounts, self.alpha)

        return self._compared("random_direction", self.rows, draws, row_at)

    def alike(self, others: Sequence[Sequence[Change]], n: int) -> Laid:
        """Features by others, whose change is about as long."""
        features = self.rows[: len(others)]
        absent = frozenset(
            i * n + k for i, each in enumerate(others) for k in range(n) if k >= len(each)
        )

        def row_at(place: tuple[int, ...]) -> Row:
            other = others[place[0]][place[1]]
            return other.row(self.site, other.amounts, self.alpha)

        table, panel = self._compared("alike", features, n, row_at)
        return table, Panel(panel.shape, panel.row_at, absent)

    def _compared(
        self,
        kind: Literal["random_direction", "alike"],
        rows: Sequence[Change],
        n: int,
        row_at: Callable[[tuple[int, ...]], Row],
    ) -> Laid:
        draws = list(range(n))
        axes = [
            self._features(rows),
            Axis(name="draw", values=list(draws), labels=[str(draw + 1) for draw in draws]),
        ]
        table = Table(kind=kind, hook=self.site.hook, axes=axes, values={})
        return table, Panel((len(rows), n), row_at)

    def _features(self, rows: Sequence[Change]) -> Axis:
        return Axis(
            name="feature",
            values=[row.value for row in rows],
            labels=[row.label for row in rows],
        )

    def _places(self) -> Axis:
        values = [column.value for column in self.columns]
        words = any(isinstance(value, str) for value in values)
        return Axis(
            name="role" if words else "position",
            values=[*([str(value) for value in values] if words else values), EVERYWHERE],
            labels=[*(column.label for column in self.columns), EVERYWHERE],
        )
