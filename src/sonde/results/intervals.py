"""The strongest cells of a sweep over pairs with their intervals: as numbers, lines and a picture.

A heatmap shows where; how sure that is stands beside it. Cells are chosen and measured on the same
pairs. `p` is corrected for the choosing, the interval of the one that came out first is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sonde.results import pair_tables
from sonde.results.numbers import count, fixed
from sonde.results.tokens import pad
from sonde.results.views import Coordinates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sonde.results.pairs import PairSweep
    from sonde.schema import Hook

BAR = 20
"""Characters of a line's bar."""


class Interval(NamedTuple):
    """One cell over all pairs."""

    label: str
    """`z 23.4`, or as its table names it."""
    mean: float
    low: float
    high: float
    p: float
    """Family-wise over all cells of the sweep."""


def strongest_intervals(sweep: PairSweep, k: int) -> list[Interval]:
    """The k cells farthest from the baseline, either way, that have a number and an interval."""
    zero = sweep.baseline or 0.0
    found = []
    for hook, place, (_, mean, low, high, _, p, *_) in pair_tables.rows(sweep):
        if not np.isnan([mean, low, high, p]).any():
            found.append(Interval(_label(hook, place), mean, low, high, p))
    return sorted(found, key=lambda each: -abs(each.mean - zero))[:k]


def _label(hook: Hook, place: Coordinates) -> str:
    """`z 23.4`: a layer and a head with a point between, anything else by its words."""
    at = {each.axis: each for each in place}
    if set(at) == {"layer", "head"}:
        return f"{hook} {at['layer'].value}.{at['head'].value}"
    return ", ".join([hook, *(f"{each} {each.said}".strip() for each in place)])


def in_words(each: Interval) -> str:
    """0.60 [0.54, 0.65], p 0.0001."""
    ends = f"[{fixed(each.low, 2)}, {fixed(each.high, 2)}]"
    return f"{fixed(each.mean, 2)} {ends}, p {fixed(each.p, 4)}"


def lines(found: list[Interval], zero: float = 0.0) -> Iterator[str]:
    """One a cell: its name, its numbers, and a bar with the interval in it."""
    ends = [value for each in found for value in (each.low, each.high, zero)]
    least, most = min(ends, default=0.0), max(ends, default=1.0)
    wide = max((len(each.label) for each in found), default=0)

    def at(value: float) -> int:
        return round((BAR - 1) * (value - least) / ((most - least) or 1.0))

    for each in found:
        bar = [" "] * BAR
        bar[at(zero)] = "│"
        for place in range(at(each.low), at(each.high) + 1):
            bar[place] = "─"
        bar[at(each.mean)] = "●"
        yield f"{pad(each.label, wide)}  {''.join(bar)}  {in_words(each)}"


def verdict(sweep: PairSweep) -> str:
    """Which cells matter over these pairs, and how much the strongest; or that none is seen to."""
    heads = all("head" in (axis.name for axis in view.axes) for view in sweep.views)
    what = "head" if heads else "site"
    sure = sum(int(each.sum()) for each in sweep.significant.values())
    of = sum(each.size for each in sweep.significant.values())
    among = f"{count(len(sweep.pairs), 'pair')} and {count(of, what)}"
    found = strongest_intervals(sweep, of)
    alpha = f"{sweep.settings.alpha:g}"
    if not found:
        return f"Over {among} nothing has an interval: more pairs would tell."
    first = next((each for each in found if each.p <= sweep.settings.alpha), None)
    if first is None:
        return (
            f"None matters that is known: over {among} none moves the answer by more than chance "
            f"does (family-wise p > {alpha}); the most is {found[0].label}, {in_words(found[0])}."
        )
    return (
        f"{first.label} matters: over {among} it comes to {in_words(first)}; {sure} of the {of} "
        f"are told from 0 (family-wise p ≤ {alpha})."
    )


def interval_plot(sweep: PairSweep, k: int = 8) -> Figure:
    """The strongest cells as points with their intervals, the strongest on top."""
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    draw(figure, sweep, k)
    return figure


def shown(sweep: PairSweep, k: int = 8) -> Figure:
    """The same for people who have pyplot and a screen; a notebook displays it once."""
    import matplotlib
    import matplotlib.pyplot as plt

    figure: Figure = plt.figure(layout="constrained")
    draw(figure, sweep, k)
    if "inline" in matplotlib.get_backend().lower():
        plt.close(figure)  # else the cell shows it, and its value shows it again
    return figure


def draw(figure: Figure, sweep: PairSweep, k: int) -> None:
    """The picture, on a figure."""
    from sonde.results.wording import metric_label

    cells = strongest_intervals(sweep, k)[::-1]
    figure.set_size_inches(5.4, 1.2 + 0.34 * max(len(cells), 1))
    ax = figure.subplots()
    for row, each in enumerate(cells):
        color = "#1f5fa8" if each.p <= sweep.settings.alpha else "#9aa0a6"
        ax.plot([each.low, each.high], [row, row], "-", color=color, lw=2)
        ax.plot([each.mean], [row], "o", color=color, ms=6)
    ax.axvline(sweep.baseline or 0.0, color="#6a7078", lw=0.8)
    ax.set_yticks(range(len(cells)), [each.label for each in cells], parse_math=False)
    ax.set_ylim(-0.6, len(cells) - 0.4)
    level = f"{sweep.settings.level:.0%} interval over {count(len(sweep.pairs), 'pair')}"
    label = "\n".join(wrap(f"{metric_label(sweep)}, {level}; grey: not told from 0", 60))
    ax.set_xlabel(label, parse_math=False)
