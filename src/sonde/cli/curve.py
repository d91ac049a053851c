"""A small plot for the terminal: one bar a step, grouped where there are many. Pure text."""

from collections.abc import Sequence
from typing import Final

BARS: Final = " ▁▂▃▄▅▆▇█"
HEIGHT: Final = 6
WIDTH: Final = 60


def curve(values: Sequence[float | None], *, title: str, top: float = 1.0) -> list[str]:
    """The lines of a plot from 0 to `top`. A step without a value is a gap."""
    bars = grouped(values, WIDTH)
    wide = max(1, min(3, WIDTH // max(len(bars), 1)))
    rows = [
        f"{_label(row, top):>5} │" + "".join(_cell(value, row, top) * wide for value in bars)
        for row in reversed(range(HEIGHT))
    ]
    first, last = "1", str(len(values))
    space = max(1, wide * len(bars) - len(first) - len(last))
    foot = [f"{'':5} └" + "─" * (wide * len(bars)), f"{'':7}{first}{'':{space}}{last} step"]
    return [title, *rows, *foot]


def grouped(values: Sequence[float | None], most: int) -> list[float | None]:
    """At most so many values: neighbours are averaged where there are more."""
    if len(values) <= most:
        return list(values)
    found: list[float | None] = []
    for place in range(most):
        part = values[place * len(values) // most : (place + 1) * len(values) // most]
        there = [value for value in part if value is not None]
        found.append(sum(there) / len(there) if there else None)
    return found


def _cell(value: float | None, row: int, top: float) -> str:
    """The piece of a bar that is in this row, counted from the bottom."""
    if value is None:
        return " "
    eighths = round(max(0.0, min(value / top, 1.0)) * HEIGHT * 8)
    if row == 0 and eighths == 0:
        return "▁" if value == 0 else BARS[1]
    return BARS[max(0, min(8, eighths - 8 * row))]


def _label(row: int, top: float) -> str:
    """Beside the top row, the bottom row, and nothing between."""
    if row == HEIGHT - 1:
        return f"{top:g}"
    return "0" if row == 0 else ""
