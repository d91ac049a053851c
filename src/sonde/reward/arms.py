"""The arms of a test: completions of all prompts with nothing changed, a feature, or a direction.

And the tables that they are the columns of: prompt × feature, prompt × feature × draw, and prompt.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sonde.backends.edit import Edit
from sonde.reward.exam import Grade
from sonde.reward.request import DRAWS
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.changes import random_direction
from sonde.sae.evaluate import hook_out_of
from sonde.sae.passing import feature_edit
from sonde.schema import Hook
from sonde.schema.table import Axis, FeatureAxis, Table, TableCell, TableMetric

CELLS, RANDOM, BASELINE = 0, 1, 2
"""The tables."""

At = tuple[int, ...]
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Arm:
    """Completions of all prompts with one change."""

    table: int
    at: At
    """Where it is in the table, after the prompt."""
    label: str
    edit: Edit | None

    @property
    def key(self) -> tuple[int, At]:
        """Its column."""
        return self.table, self.at

    def cell(self, number: int, grade: Grade, said: str) -> TableCell:
        """One of its completions, as an event."""
        values: dict[TableMetric, float | None] = {"reward": grade.reward}
        return TableCell(table=self.table, at=[number, *self.at], values=values, said=said)


BARE = Arm(BASELINE, (), "nothing changed", None)


@dataclass(frozen=True, eq=False)
class Column:
    """What came of an arm: one entry a prompt."""

    grades: list[Grade]
    said: list[str]
    tokens: list[tuple[int, ...]]

    @property
    def rewards(self) -> Numbers:
        """The reward of each."""
        return np.array([grade.reward for grade in self.grades], dtype=np.float64)


Columns = Mapping[tuple[int, At], Column]


@dataclass(eq=False)
class Arms:
    """All arms of a test of one dictionary's features."""

    autoencoder: Autoencoder
    axis: FeatureAxis
    numbers: list[int] = field(default_factory=list)
    """The features; none until somebody has chosen them."""

    def __post_init__(self) -> None:
        self.numbers = list(dict.fromkeys(self.axis.numbers or []))
        for number in self.numbers:
            self._edit(number)  # raises where there is no such feature

    @property
    def draws(self) -> int:
        """Random directions beside each feature."""
        return DRAWS if self.axis.draws is None else self.axis.draws

    @property
    def hook(self) -> Hook:
        """Where is written."""
        return hook_out_of(self.autoencoder)

    @property
    def count(self) -> int:
        """How many there are, that without any change among them."""
        return 1 + len(self.numbers) * (1 + self.draws)

    def label(self, number: int) -> str:
        """The layer and the feature."""
        return f"{self.axis.layer}:{number}"

    def __iter__(self) -> Iterator[Arm]:
        """Every feature; then, draw by draw, the random directions of all of them."""
        done = "clamped" if self.axis.how == "clamp" else "removed"
        for place, number in enumerate(self.numbers):
            yield Arm(CELLS, (place,), f"{self.label(number)} {done}", self._edit(number))
        for draw in range(self.draws):
            for place, number in enumerate(self.numbers):
                label = f"random direction {draw + 1} beside {self.label(number)}"
                yield Arm(RANDOM, (place, draw), label, self._edit(number, draw))

    def ends_a_round(self, arm: Arm) -> bool:
        """Whether all features have been compared with as many directions after it."""
        return arm.table == CELLS or arm.at[0] == len(self.numbers) - 1

    def _edit(self, number: int, draw: int | None = None) -> Edit:
        axis, width = self.axis, self.autoencoder.d_out
        direction = None if draw is None else random_direction(width, axis.seed, number, draw)
        how: Literal["clamp", "remove"] = "clamp" if axis.how == "clamp" else "remove"
        return feature_edit(
            self.autoencoder, axis.layer, number, how=how, value=axis.value, direction=direction
        )

    def tables(self, prompts: Sequence[str], columns: Columns | None = None) -> list[Table]:
        """The tables, empty until there are columns."""
        texts = Axis(name="prompt", values=list(range(len(prompts))), labels=list(prompts))
        labels = [self.label(number) for number in self.numbers]
        features = Axis(name="feature", values=list(self.numbers), labels=labels)
        draws = range(self.draws)
        draw = Axis(name="draw", values=list(draws), labels=[f"draw {n + 1}" for n in draws])
        places = range(len(self.numbers))

        def table(
            kind: Literal["cells", "random_direction", "baseline"],
            number: int,
            axes: list[Axis],
            at: Sequence[At],
        ) -> Table:
            values: dict[TableMetric, list[float | None]] = {}
            said: list[str | None] | None = None
            if columns is not None:
                each = [columns[number, place] for place in at]
                rows = range(len(prompts))
                values = {"reward": [c.grades[i].reward for i in rows for c in each]}
                said = [c.said[i] for i in rows for c in each]
            return Table(kind=kind, hook=self.hook, axes=axes, values=values, said=said)

        return [
            table("cells", CELLS, [texts, features], [(p,) for p in places]),
            table(
                "random_direction",
                RANDOM,
                [texts, features, draw],
                [(p, d) for p in places for d in draws],
            ),
            table("baseline", BASELINE, [texts], [()]),
        ]
