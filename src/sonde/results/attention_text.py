"""Attention in a terminal: what each position looks at, or which heads have the highest scores.

Without colour a weight is written in tenths, a dot where it is less than one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from rich.cells import cell_len

from sonde.results.attention import Attention
from sonde.results.attention_panels import Panel, panels
from sonde.results.colors import sequential
from sonde.results.numbers import fixed
from sonde.results.pen import Pen
from sonde.results.tokens import fit, fit_middle, pad, token_label, visible

_LABEL = 14
_GAP = "   "


def render(found: Attention, *, pen: Pen, width: int) -> str:
    """The whole report, no line wider than `width`."""
    sections = (_heading(found, pen, width), _body(found, pen, width))
    return "\n".join(line for section in sections for line in section).rstrip("\n")


def _heading(found: Attention, pen: Pen, width: int) -> Iterator[str]:
    what = "attention" if found.scores is None else "head scores"
    yield pen.bold(fit(f"{visible(found.provenance.model)}: {what}", width))
    yield fit_middle(visible("".join(found.tokens)), width)
    yield ""


def _body(found: Attention, pen: Pen, width: int) -> Iterator[str]:
    if found.scores is not None:
        yield from _abreast(panels(found), pen, width)
        yield pen.dim(fit("highest, as layer.head", width))
        for name in found.scores:
            best = [f"{layer}.{head} {fixed(v, 2)}" for layer, head, v in found.top(name)]
            told = "   ".join(best) or "the prompt has no such keys"
            yield pen.bold(pad(name, 11)) + fit(told, max(width - 11, 1))
        return
    for panel in panels(found):
        yield pen.bold(fit(panel.title, width))
        yield from _pattern(found, panel, pen, width)
        yield ""


def _pattern(found: Attention, panel: Panel, pen: Pen, width: int) -> Iterator[str]:
    """A row a position: its token, its weights as squares, and the key that it looks at most.

    Of a prompt that is wider than the screen, only those keys are said.
    """
    labels = panel.rows
    margin = min(max(map(cell_len, labels)), _LABEL)
    cell = 2
    drawn = margin + 1 + cell * len(labels) + len(_GAP) + _LABEL + 6 <= width
    for label, row in zip(labels, panel.values, strict=True):
        key = int(np.nanargmax(row))
        told = f"{fixed(float(row[key]), 2)} on {key} {token_label(found.tokens[key])}"
        squares = "".join(_square(v, cell, pen) for v in row) if drawn else ""
        line = pen.dim(pad(label, margin)) + " " + squares + (_GAP if drawn else "")
        room = width - margin - 1 - (cell * len(labels) + len(_GAP) if drawn else 0)
        yield line + fit(told, max(room, 0))


def _abreast(shown: Sequence[Panel], pen: Pen, width: int) -> Iterator[str]:
    """Panels side by side where there is room, else one after the other."""
    cell = 2 if pen.color else 3
    one = [_panel(panel, cell, pen) for panel in shown]
    wide = 4 + cell * len(shown[0].columns)
    beside = max(min(len(one), (width + len(_GAP)) // (wide + len(_GAP))), 1)
    for first in range(0, len(one), beside):
        for parts in zip(*one[first : first + beside], strict=True):
            yield _GAP.join(parts).rstrip()
        yield ""


def _panel(panel: Panel, cell: int, pen: Pen) -> list[str]:
    n = len(panel.columns)
    lines = [" " * 4 + pen.bold(pad(panel.title, cell * n))]
    for label, row in zip(panel.rows, panel.values, strict=True):
        lines.append(pen.dim(f"{label:>3} ") + "".join(_square(v, cell, pen) for v in row))
    return [*lines, " " * 4 + "".join(f"{label:<{cell}}"[:cell] for label in panel.columns)]


def _square(value: float, cell: int, pen: Pen) -> str:
    if math.isnan(value):
        return " " * cell
    if pen.color:
        return pen.on(" " * cell, sequential(value, pen.theme))
    tenths = min(int(10 * value), 9)
    return (str(tenths) if tenths else "·").ljust(cell)
