"""The heatmap in character cells: hooks side by side where the width permits.

A column is one to eight characters wide: eight hold the number itself, two make a square. A prompt
too long for the width is cut into blocks of columns, never scaled: a column always is one token. Of
such a prompt the columns where no patch changed anything (as a rule all those before the prompts
differ) are left out, and `left_out` says so.

Without colour and without room for numbers, a cell is its place on the scale in ninths, from −9 to
9, a dot at the baseline. A ramp of grey characters would lose the direction.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from rich.cells import cell_len

from sonde.results.numbers import fixed
from sonde.results.pen import Pen
from sonde.results.scale import Scale
from sonde.results.tokens import ELLIPSIS, clusters, fit
from sonde.results.views import TableView
from sonde.results.wording import ranges

if TYPE_CHECKING:
    from sonde.results.sweep import Sweep

LARGEST, NOISE, MISSING = "●", "~", "×"
"""Marks inside a cell: the largest value, one within the noise floor, one without a number."""

_WIDEST_CELL = 8
_ONLY_CELL = 12
"""A single column has no neighbours, and room for the name of its hook above it."""
_HORIZONTAL_FROM = 6
"""Columns at least this wide have their token written along, narrower ones downwards."""
_TALLEST_LABEL = 10
_LONGEST_ROW = 20
"""Characters of a row's label."""
_MOST_BLOCKS = 4
"""Beyond this many, columns become one character wide."""
_GAP = "  "


@dataclass(frozen=True)
class Layout:
    """How a grid is cut to fit a width."""

    cell: int
    """Characters per column."""
    beside: int
    """Hooks next to each other."""
    columns: int
    """Columns in a block."""


def layout(
    *,
    hooks: int,
    columns: int,
    margin: int,
    width: int,
    narrowest: int,
    widest: int = _WIDEST_CELL,
) -> Layout:
    """The most hooks beside each other that leave every column `narrowest` characters."""
    for beside in range(hooks, 0, -1):
        room = (width - len(_GAP) * (beside - 1)) // beside - margin
        if room >= columns * narrowest:
            return Layout(min(room // columns, widest), beside, columns)
    room = max(width - margin, 1)
    crowded = narrowest == 2 and columns * narrowest > _MOST_BLOCKS * room
    cell = 1 if crowded else min(narrowest, room)
    blocks = math.ceil(columns / (room // cell))
    return Layout(cell, 1, math.ceil(columns / blocks))


@dataclass(frozen=True)
class Blocks:
    """The heatmaps of a sweep that have the same rows and columns, at one width."""

    sweep: Sweep
    panels: tuple[int, ...]
    """Which of the sweep's pictures."""
    pen: Pen
    width: int

    @cached_property
    def scale(self) -> Scale:
        """One scale for all blocks."""
        return Scale.of(self.sweep)

    @cached_property
    def layout(self) -> Layout:
        """How it is cut."""
        return layout(
            hooks=len(self.panels),
            columns=len(self.columns),
            margin=self._margin,
            width=self.width,
            narrowest=self._narrowest,
            widest=_WIDEST_CELL if self.view.columns.name else _ONLY_CELL,
        )

    @property
    def view(self) -> TableView:
        """One of the pictures: its sides are those of all."""
        return self.sweep.views[self.panels[0]]

    @cached_property
    def columns(self) -> list[int]:
        """The columns that are drawn."""
        everything = range(len(self.view.columns))
        if len(everything) * self._narrowest <= self.width - self._margin:
            return list(everything)
        grids = [self.sweep.views[panel].picture for panel in self.panels]
        changed = [
            c for c in everything if any((g[:, c] != self.scale.baseline).any() for g in grids)
        ]
        return changed or list(everything)

    @property
    def left_out(self) -> str:
        """What is not drawn, because no patch there changed anything: 50 positions, 0–49."""
        drawn, side = set(self.columns), self.view.columns
        places = [place for column, place in enumerate(side.places) if column not in drawn]
        if not places:
            return ""
        values = [place[0].value for place in places]
        numbers = [value for value in values if isinstance(value, int)]
        told = ranges(numbers) if len(numbers) == len(values) else ", ".join(map(str, values))
        return f"{len(places)} {side.name}s, {told}"

    @cached_property
    def has_numbers(self) -> bool:
        """Whether every cell has room for a mark, its number and a space."""
        ends = (self.scale.low, self.scale.high)
        return max(len(self.scale.text(value)) for value in ends) + 2 <= self.layout.cell

    def lines(self) -> Iterator[str]:
        """Every line, each at most `width` columns wide."""
        step, beside = self.layout.columns, self.layout.beside
        for start in range(0, len(self.columns), step):
            columns = self.columns[start : start + step]
            for first in range(0, len(self.panels), beside):
                abreast = self.panels[first : first + beside]
                drawn = [self._panel(panel, columns) for panel in abreast]
                for parts in zip(*drawn, strict=True):
                    yield _GAP.join(parts).rstrip()
                yield ""

    @property
    def _narrowest(self) -> int:
        return 2 if self.pen.color else 3

    @property
    def _margin(self) -> int:
        return max(cell_len(label) for label in self._row_labels) + 1

    @cached_property
    def _row_labels(self) -> list[str]:
        longest = max(min(_LONGEST_ROW, self.width // 3), 1)
        return [fit(label, longest) for label in self.view.rows.labels]

    def _panel(self, panel: int, columns: Sequence[int]) -> list[str]:
        width = self.layout.cell * len(columns)
        shift = " " * self._margin
        title = fit(self.sweep.views[panel].name, width)
        lines = [shift + self.pen.bold(title) + " " * (width - len(title))]
        for row in reversed(range(len(self._row_labels))):
            text = self._row_labels[row]
            label = " " * (self._margin - 1 - cell_len(text)) + f"{text} "
            cells = (self._cell(panel, row, column) for column in columns)
            lines.append(self.pen.dim(label) + "".join(cells))
        return lines + [shift + line for line in self._labels(columns)]

    def _cell(self, panel: int, row: int, column: int) -> str:
        value = float(self.sweep.views[panel].picture[row, column])
        if math.isnan(value):
            return self.pen.dim(_centred(MISSING, self.layout.cell))
        mark = self._mark(panel, row, column)
        color = self.scale.color(value, self.pen.theme)
        return self.pen.on(self._content(value, mark), color, faint=mark == NOISE)

    def _content(self, value: float, mark: str) -> str:
        if self.has_numbers:
            return f"{mark}{self.scale.text(value)} ".rjust(self.layout.cell)
        if self.pen.color:
            return _centred(mark, self.layout.cell)
        ninths = fixed(9 * self.scale.place(value), 0)
        digit = mark if mark == NOISE else mark + ("·" if ninths == "0" else ninths)
        return digit.rjust((self.layout.cell + 1) // 2).ljust(self.layout.cell)

    def _mark(self, panel: int, row: int, column: int) -> str:
        found = self.sweep.largest
        if found is not None and found[:3] == (panel, row, column):
            return LARGEST
        return NOISE if self.sweep.doubts[panel][row, column] else ""

    def _labels(self, columns: Sequence[int]) -> list[str]:
        cell = self.layout.cell
        labels = [self.view.columns.labels[column] for column in columns]
        if not any(labels):
            return []
        if cell >= _HORIZONTAL_FROM or all(cell_len(label) < cell for label in labels):
            return ["".join(_centred(fit(label, cell - 1), cell) for label in labels)]
        stacks = [_stack(label, cell) for label in labels]
        return [
            "".join(_centred(stack[line] if line < len(stack) else "", cell) for stack in stacks)
            for line in range(max(map(len, stacks)))
        ]


def _stack(label: str, width: int) -> list[str]:
    """The glyphs of a label, to be written downwards; one too wide for its column as a box."""
    glyphs = [glyph if cell_len(glyph) <= width else "▯" for glyph in clusters(label)]
    return glyphs if len(glyphs) <= _TALLEST_LABEL else [*glyphs[: _TALLEST_LABEL - 1], ELLIPSIS]


def _centred(text: str, width: int) -> str:
    left = max(width - cell_len(text), 0) // 2
    return " " * left + text + " " * (width - left - cell_len(text))
