"""The heatmap as HTML: a panel per table, a legend, and the colours as classes.

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
from sonde.results.tokens import fit, visible
from sonde.results.views import Side, TableView, briefly
from sonde.results.wording import meaning

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


def panel(sweep: Sweep, n: int, *, titles: bool = False) -> str:
    """One picture; `titles` gives each cell its own tooltip, where there is no script."""
    scale, view = Scale.of(sweep), sweep.views[n]
    rows = "".join(_row(sweep, scale, n, row, titles) for row in _downwards(view))
    labels = "".join(f"<span><bdi>{_label(text)}</bdi></span>" for text in view.columns.labels)
    width, height = _cell_size(view)
    size = f"--columns:{len(view.columns)};--width:{width}px;--height:{height}px"
    hook, sides = view.name, " by ".join(filter(None, map(_counted, (view.rows, view.columns))))
    name = f"{hook}, {meaning(view)}: heatmap of {sides}."
    level = " level" if [axis.name for axis in view.columns.axes] == ["head"] else ""
    told = f"<b>{hook}</b> {meaning(view)}"
    if titles:  # without a script it is a picture, and takes no keys
        whole = f'<figure class="panel{level}"><figcaption class="caption">{told}</figcaption>'
        cells, end = f'role="img" aria-label="{name}"', "</figure>"
    else:
        whole = (
            f'<div class="panel{level}" data-table="{n}" tabindex="0" role="application" '
            f'aria-roledescription="heatmap" aria-label="{name} Arrow keys read the cells.">'
            f'<p class="caption">{told}</p>'
        )
        cells, end = 'aria-hidden="true"', "</div>"
    return f"""{whole}
<div class="scroll"><div class="cells" style="{size}" {cells}>
{rows}<b></b>{labels}
</div></div>{end}"""


def table(sweep: Sweep, n: int) -> str:
    """The same as a table, rows in the order of the panel: what a screen reader reads."""
    scale, view = Scale.of(sweep), sweep.views[n]
    head = "".join(
        f'<th scope="col" data-place="{place}"><bdi>{escape(label)}</bdi></th>'
        for place, label in zip(_places(view.columns), view.columns.labels, strict=True)
    )
    places, labels = _places(view.rows), view.rows.labels
    body = "\n".join(
        f'<tr><th scope="row" data-place="{places[row]}">{escape(labels[row])}</th>'
        + "".join(_entry(scale, value) for value in view.picture[row].tolist())
        + "</tr>"
        for row in _downwards(view)
    )
    return f"""<table data-table="{n}"><caption>{view.name}</caption>
<thead><tr><th scope="col">{view.rows.name}</th>{head}</tr></thead>
<tbody>{body}</tbody></table>"""


def _downwards(view: TableView) -> range:
    """Rows from the top of the picture: the last layer first."""
    return range(len(view.rows) - 1, -1, -1)


def _counted(side: Side) -> str:
    return f"{len(side)} {side.name}s" if side.name else ""


def _places(side: Side) -> list[str]:
    """Where each row or column is, as an attribute."""
    return [escape(visible(", ".join(map(str, place)))) for place in side.places]


def _row(sweep: Sweep, scale: Scale, n: int, row: int, titles: bool) -> str:
    view = sweep.views[n]
    cells = []
    for column, value in enumerate(view.picture[row].tolist()):
        classes = _classes(sweep, scale, (n, row, column), value)
        title = ""
        if titles:
            place = view.rows.places[row] + view.columns.places[column]
            title = f' title="{escape(f"{briefly(place)}: {scale.text(value)}")}"'
        cells.append(f'<i class="{classes}"{title}></i>')
    name = "" if _has_label(view, row) else ' class="quiet"'
    return f"<b{name}>{_label(view.rows.labels[row])}</b>{''.join(cells)}\n"


def _classes(sweep: Sweep, scale: Scale, here: tuple[int, int, int], value: float) -> str:
    if math.isnan(value):
        return "none"
    found, (n, row, column) = sweep.largest, here
    largest = " max" if found is not None and found[:3] == here else ""
    return _color_class(scale, value) + (" noise" if sweep.doubts[n][row, column] else "") + largest


def _entry(scale: Scale, value: float) -> str:
    if math.isnan(value):
        return "<td>no number</td>"
    change = scale.change(value)
    title = f' title="{change}"' if change else ""
    return f"<td{title}>{scale.text(value)}</td>"


def _has_label(view: TableView, row: int) -> bool:
    step = next(step for step in (1, 2, 5, 10, 20, 50, 10**9) if len(view.rows) / step <= 16)
    return row % step == 0


def _label(text: str) -> str:
    return escape(fit(text, _LONGEST_LABEL))


def _cell_size(view: TableView) -> tuple[int, int]:
    columns, rows = len(view.columns), len(view.rows)
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
