"""The heatmap as HTML: a panel per hook, a legend, and the colours as classes.

Cells carry a class instead of a colour: the classes have one colour on light surfaces and another
on dark ones, so a page follows its reader's theme, and ten thousand cells stay small. All text that
is not ours goes through `escaped`.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from sonde.results.colors import Rgb, Theme, css, diverging, sequential
from sonde.results.scale import Scale
from sonde.results.tokens import fit, quoted, token_label, visible
from sonde.results.wording import HOOK_MEANING
from sonde.schema import Hook

if TYPE_CHECKING:
    from sonde.results.sweep import Sweep

_LEVELS = 40
"""Colours on each side of the baseline."""
_LEGEND_STEPS = 48
_LONGEST_LABEL = 18


def escaped(text: str) -> str:
    """Other people's text as HTML: what cannot be seen spelled out, markup inert."""
    return escape(visible(text))


def color_rules(scale: Scale) -> str:
    """The classes `c-40` to `c40`, in both themes."""
    light, dark = (_rules(scale, theme) for theme in ("light", "dark"))
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"


def legend(sweep: Sweep) -> str:
    """The colours from the least value to the greatest, with the baseline marked."""
    scale = Scale.of(sweep)
    span = scale.high - scale.low
    steps = [scale.low + span * step / (_LEGEND_STEPS - 1) for step in range(_LEGEND_STEPS)]
    bar = "".join(f'<i class="{_color_class(scale, value)}"></i>' for value in steps)
    mark = ""
    if scale.baseline is not None and span > 0:
        place = 100 * (scale.baseline - scale.low) / span
        mark = f'<b style="left:{place:.2f}%" title="baseline {scale.text(scale.baseline)}"></b>'
    low, high = scale.text(scale.low), scale.text(scale.high)
    return f'<div class="legend"><span>{low}</span><div>{bar}{mark}</div><span>{high}</span></div>'


def panel(sweep: Sweep, hook: Hook, *, titles: bool = False) -> str:
    """One hook's heatmap; `titles` gives each cell its own tooltip, where there is no script."""
    scale = Scale.of(sweep)
    rows = "".join(_row(sweep, scale, hook, row, titles) for row in _downwards(sweep))
    labels = "".join(f"<span><bdi>{_column_label(token)}</bdi></span>" for token in sweep.tokens)
    width, height = _cell_size(sweep)
    size = f"--columns:{len(sweep.positions)};--width:{width}px;--height:{height}px"
    name = (
        f"{hook}, {HOOK_MEANING[hook]}: heatmap of {len(sweep.layers)} layers by "
        f"{len(sweep.positions)} positions. Arrow keys read the cells."
    )
    return f"""<figure class="panel" data-hook="{hook}" tabindex="0" role="application"
 aria-roledescription="heatmap" aria-label="{name}">
<figcaption><b>{hook}</b> {HOOK_MEANING[hook]}</figcaption>
<div class="scroll"><div class="cells" style="{size}" aria-hidden="true">
{rows}<b></b>{labels}
</div></div></figure>"""


def table(sweep: Sweep, hook: Hook) -> str:
    """One hook's grid as a table, rows in the order of the panel: what a screen reader reads."""
    scale = Scale.of(sweep)
    head = "".join(
        f'<th scope="col" data-position="{position}"><bdi>{escape(token_label(token))}</bdi></th>'
        for position, token in zip(sweep.positions, sweep.tokens, strict=True)
    )
    body = "\n".join(
        f'<tr><th scope="row">{sweep.layers[row]}</th>'
        + "".join(_entry(scale, value) for value in sweep.grids[hook][row].tolist())
        + "</tr>"
        for row in _downwards(sweep)
    )
    return f"""<table data-hook="{hook}"><caption>{hook}</caption>
<thead><tr><th scope="col">layer</th>{head}</tr></thead>
<tbody>{body}</tbody></table>"""


def _downwards(sweep: Sweep) -> range:
    """Rows from the top of the picture: the last layer first."""
    return range(len(sweep.layers) - 1, -1, -1)


def _row(sweep: Sweep, scale: Scale, hook: Hook, row: int, titles: bool) -> str:
    layer = sweep.layers[row]
    cells = []
    for column, value in enumerate(sweep.grids[hook][row].tolist()):
        classes = _classes(sweep, scale, hook, row, column, value)
        title = ""
        if titles:
            text = f"layer {layer}, {quoted(sweep.tokens[column])}: {scale.text(value)}"
            title = f' title="{escape(text)}"'
        cells.append(f'<i class="{classes}"{title}></i>')
    name = "" if _has_label(sweep, row) else ' class="quiet"'
    return f"<b{name}>{layer}</b>{''.join(cells)}\n"


def _classes(sweep: Sweep, scale: Scale, hook: Hook, row: int, column: int, value: float) -> str:
    if math.isnan(value):
        return "none"
    found = sweep.argmax
    here = (hook, sweep.layers[row], sweep.positions[column])
    largest = " max" if found is not None and found[:3] == here else ""
    return _color_class(scale, value) + (" noise" if scale.is_noise(value) else "") + largest


def _entry(scale: Scale, value: float) -> str:
    if math.isnan(value):
        return "<td>no number</td>"
    change = scale.change(value)
    title = f' title="{change}"' if change else ""
    return f"<td{title}>{scale.text(value)}</td>"


def _has_label(sweep: Sweep, row: int) -> bool:
    step = next(step for step in (1, 2, 5, 10, 20, 50) if len(sweep.layers) / step <= 16)
    return row % step == 0


def _column_label(token: str) -> str:
    return escape(fit(token_label(token), _LONGEST_LABEL))


def _cell_size(sweep: Sweep) -> tuple[int, int]:
    columns, rows = len(sweep.positions), len(sweep.layers)
    width = next((w for limit, w in ((12, 28), (24, 22), (48, 16)) if columns <= limit), 11)
    return width, 22 if rows <= 12 else 14


def _color_class(scale: Scale, value: float) -> str:
    return f"c{round(_LEVELS * scale.place(value))}"


def _rules(scale: Scale, theme: Theme) -> str:
    first = 0 if scale.baseline is None else -_LEVELS
    return "\n".join(
        f".sonde .c{level} {{ background-color: {css(_level(scale, level, theme))} }}"
        for level in range(first, _LEVELS + 1)
    )


def _level(scale: Scale, level: int, theme: Theme) -> Rgb:
    place = level / _LEVELS
    return sequential(place, theme) if scale.baseline is None else diverging(place, theme)
