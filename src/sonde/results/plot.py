"""The heatmap as a matplotlib figure: one panel per table, one colour scale for all.

`shown` makes a figure for people who have pyplot and a screen; `image` makes bytes and never
touches pyplot, so a server thread may call it. Nothing a prompt contains is read as mathtext, and
what the font cannot draw becomes □ instead of a warning.
"""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.results.colors import colormap
from sonde.results.excerpt import excerpt
from sonde.results.scale import Scale
from sonde.results.tokens import fit, fit_middle, visible
from sonde.results.views import TableView
from sonde.results.wording import baseline_label, metric_label, shared_heads
from sonde.schema import Hook

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sonde.results.sweep import Sweep

_INK, _MUTED, _EMPTY, _HATCH = "#1c1f23", "#6a7078", "#dfe1e3", "#b4b8bc"
_DPI = 200
_LABEL_COLUMNS = 16
_MANY = 40
_UPRIGHT = 4
"""Characters of a head's label that fit beside its neighbour's."""
_WIDEST = 17.0
"""Inches; panels that would be wider together stand one above the other."""


def shown(sweep: Sweep, hook: Hook | None = None) -> Figure:
    """A figure that `plt.show()` shows, and that a notebook displays once; of one hook, or all."""
    import matplotlib
    import matplotlib.pyplot as plt

    sweep = excerpt(sweep)
    figure: Figure = plt.figure(layout="constrained")
    views = enumerate(sweep.views)
    draw(figure, sweep, [n for n, view in views if hook in (None, view.hook)])
    if "inline" in matplotlib.get_backend().lower():
        plt.close(figure)  # else the cell shows it, and its value shows it again
    return figure


def image(sweep: Sweep, kind: str) -> bytes:
    """The whole heatmap as a PNG or SVG file; the same result gives the same bytes."""
    import matplotlib
    from matplotlib.figure import Figure

    sweep = excerpt(sweep)
    figure = Figure(layout="constrained")
    draw(figure, sweep, range(len(sweep.views)))
    target = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "sonde"}):
        metadata = {"Date": None} if kind == "svg" else {"Software": "sonde"}
        figure.savefig(target, format=kind, dpi=_DPI, metadata=metadata)
    return target.getvalue()


def draw(figure: Figure, sweep: Sweep, panels: Sequence[int]) -> None:
    """Some of a sweep's pictures, the colour bar, the title and the strongest cell."""
    views = [sweep.views[n] for n in panels]
    widths, heights = zip(*map(_panel_inches, views), strict=True)
    height = max(heights)
    stacked = sum(widths) > _WIDEST
    rows, columns = (len(panels), 1) if stacked else (1, len(panels))
    width = max(widths) if stacked else sum(widths)
    figure.set_size_inches(max(width + 1.6, 6.4), height * rows + 1.3)
    one_side = all(view.rows == views[0].rows for view in views)
    axes = figure.subplots(
        rows,
        columns,
        sharey=one_side,
        squeeze=False,
        width_ratios=None if stacked or len(set(widths)) == 1 else widths,
    ).ravel()
    for ax, n in zip(axes, panels, strict=True):
        panel(ax, sweep, n)
        if one_side and not stacked and ax is not axes[0]:
            ax.set_ylabel("")
    _bar(figure, list(axes), sweep, max(len(view.columns) for view in views))
    _write_title(figure, sweep)


def panel(ax: Axes, sweep: Sweep, n: int) -> Axes:
    """One picture on given axes: rows upwards, columns along, the strongest cell marked."""
    scale, view = Scale.of(sweep), sweep.views[n]
    grid = view.picture
    low, high = scale.limits
    ax.imshow(
        np.ma.masked_invalid(grid),
        cmap=colormap(scale.kind),
        vmin=low,
        vmax=high,
        origin="lower",
        aspect="auto",
        interpolation="nearest",
    )
    ax.set_facecolor(_EMPTY)
    _mark_missing(ax, np.isnan(grid))
    _hatch(ax, sweep.doubts[n])
    _rule(ax, *grid.shape)
    _mark_strongest(ax, sweep, n)
    _label_axes(ax, view)
    ax.set_title(view.name, fontsize=10, color=_INK, family="monospace", pad=6)
    return ax


def _panel_inches(view: TableView) -> tuple[float, float]:
    columns, rows = len(view.columns), len(view.rows)
    column = 0.34 if columns <= 16 else 0.24 if columns <= _MANY else 0.14
    narrowest = 1.1 if _has_heads(view) else 1.6
    return max(columns * column, narrowest) + 0.5, min(max(rows * 0.15, 1.2), 12) + 0.9


def _has_heads(view: TableView) -> bool:
    return [axis.name for axis in view.columns.axes] == ["head"]


def _label_axes(ax: Axes, view: TableView) -> None:
    labels = [drawable(fit(label, _LABEL_COLUMNS)) for label in view.columns.labels]
    size = 8 if len(labels) <= _MANY else 6
    upright = _has_heads(view) and len(labels) <= _MANY and max(map(len, labels)) <= _UPRIGHT
    ax.set_xticks(
        range(len(labels)), labels, rotation=0 if upright else 90, fontsize=size, parse_math=False
    )
    if _has_heads(view):
        name = "query head" if shared_heads(view) is None else "query heads that share it"
        ax.set_xlabel(name, fontsize=8, color=_MUTED)
    rows = [drawable(fit(label, _LABEL_COLUMNS)) for label in view.rows.labels]
    step = next(step for step in (1, 2, 5, 10, 20, 10**6) if len(rows) / step <= 16)
    ticks = range(0, len(rows), step)
    ax.set_yticks(ticks, [rows[tick] for tick in ticks], fontsize=8, parse_math=False)
    ax.set_ylabel(view.rows.name, fontsize=8, color=_MUTED)
    ax.tick_params(length=0, colors=_INK, pad=3)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _mark_missing(ax: Axes, missing: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
    rows, columns = np.nonzero(missing)
    ax.scatter(columns, rows, marker="x", s=9, linewidths=0.6, color=_MUTED)


def _hatch(ax: Axes, noisy: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
    from matplotlib.collections import PolyCollection

    corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    squares = [corners + (column, row) for row, column in np.argwhere(noisy)]
    if squares:
        ax.add_collection(
            PolyCollection(squares, facecolor="none", edgecolor=_HATCH, hatch="/////", linewidth=0),
            autolim=False,
        )


def _rule(ax: Axes, rows: int, columns: int) -> None:
    """Hairlines between cells, as long as there is room for them."""
    if columns > _MANY:
        return
    ax.vlines(np.arange(1, columns) - 0.5, -0.5, rows - 0.5, color="white", linewidth=0.7)
    ax.hlines(np.arange(1, rows) - 0.5, -0.5, columns - 0.5, color="white", linewidth=0.7)


def _mark_strongest(ax: Axes, sweep: Sweep, n: int) -> None:
    from matplotlib.patches import Rectangle

    found = sweep.largest
    if found is None or found.panel != n:
        return
    corner = (found.column, found.row)
    for width, color in ((2.6, "white"), (1.3, _INK)):
        ax.add_patch(
            Rectangle(
                (corner[0] - 0.5, corner[1] - 0.5),
                1,
                1,
                fill=False,
                linewidth=width,
                edgecolor=color,
                clip_on=False,
                zorder=5,
            )
        )


def _bar(figure: Figure, axes: list[Axes], sweep: Sweep, columns: int) -> None:
    scale = Scale.of(sweep)
    drawn = axes[0].get_images()[0]
    share, aspect = (0.05, 28) if columns <= _MANY else (0.02, 60)
    bar = figure.colorbar(drawn, ax=axes, fraction=share, pad=0.02, aspect=aspect)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2, labelsize=8, colors=_INK)
    if scale.low < scale.high:
        bar.ax.set_ylim(scale.low, scale.high)
    if scale.baseline is not None:
        bar.ax.axhline(scale.baseline, color=_INK, linewidth=0.8)
    bar.ax.set_ylabel(drawable(metric_label(sweep)), fontsize=8, color=_INK, parse_math=False)


def _write_title(figure: Figure, sweep: Sweep) -> None:
    scale = Scale.of(sweep)
    columns = int(figure.get_size_inches()[0] * 11)
    name = baseline_label(sweep)
    lines = [visible(sweep.provenance.model)]
    if sweep.clean_prompt is not None:
        lines.append(f"clean    {visible(sweep.clean_prompt)}  ({name} {scale.text(sweep.clean)})")
    lines.append(f"corrupt  {visible(sweep.corrupt_prompt)}  ({name} {scale.text(sweep.corrupt)})")
    if sweep.largest is not None:
        lines.append(f"largest  {sweep.largest}: {scale.text(sweep.largest.value)}")
    figure.suptitle(
        "\n".join(drawable(fit_middle(line, columns)) for line in lines),
        x=0.01,
        ha="left",
        fontsize=9,
        color=_INK,
        family="monospace",
        parse_math=False,
    )


@lru_cache(maxsize=4096)
def drawable(text: str) -> str:
    """The text with what the font cannot draw as boxes."""
    from matplotlib import font_manager

    text = unicodedata.normalize("NFC", text)  # matplotlib does not place combining marks
    font = font_manager.get_font(font_manager.findfont(font_manager.FontProperties()))
    return "".join(c if c == "\n" or font.get_char_index(ord(c)) else "□" for c in text)
