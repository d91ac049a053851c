"""The heatmap as a matplotlib figure: one panel per hook, one colour scale for all.

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
from sonde.results.scale import Scale
from sonde.results.tokens import fit, fit_middle, token_label, visible
from sonde.results.wording import baseline_label, metric_label, site
from sonde.schema import Hook

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sonde.results.sweep import Sweep

_INK, _MUTED, _EMPTY, _HATCH = "#1c1f23", "#6a7078", "#dfe1e3", "#b4b8bc"
_DPI = 200
_LABEL_COLUMNS = 16
_MANY = 40
_WIDEST = 17.0
"""Inches; panels that would be wider together stand one above the other."""


def shown(sweep: Sweep, hooks: Sequence[Hook]) -> Figure:
    """A figure that `plt.show()` shows, and that a notebook displays once."""
    import matplotlib
    import matplotlib.pyplot as plt

    figure: Figure = plt.figure(layout="constrained")
    draw(figure, sweep, hooks)
    if "inline" in matplotlib.get_backend().lower():
        plt.close(figure)  # else the cell shows it, and its value shows it again
    return figure


def image(sweep: Sweep, kind: str) -> bytes:
    """The whole heatmap as a PNG or SVG file; the same result gives the same bytes."""
    import matplotlib
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    draw(figure, sweep, sweep.hooks)
    target = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "sonde"}):
        metadata = {"Date": None} if kind == "svg" else {"Software": "sonde"}
        figure.savefig(target, format=kind, dpi=_DPI, metadata=metadata)
    return target.getvalue()


def draw(figure: Figure, sweep: Sweep, hooks: Sequence[Hook]) -> None:
    """All the panels, the colour bar, the title and the strongest site."""
    width, height = _panel_inches(sweep)
    stacked = width * len(hooks) > _WIDEST
    rows, columns = (len(hooks), 1) if stacked else (1, len(hooks))
    figure.set_size_inches(max(width * columns + 1.6, 6.4), height * rows + 1.3)
    axes = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    for ax, hook in zip(axes, hooks, strict=True):
        panel(ax, sweep, hook)
        if not stacked and ax is not axes[0]:
            ax.set_ylabel("")
    _bar(figure, list(axes), sweep)
    _write_title(figure, sweep)


def panel(ax: Axes, sweep: Sweep, hook: Hook) -> Axes:
    """One hook's grid on given axes: layers upwards, tokens along, the strongest site marked."""
    scale, grid = Scale.of(sweep), sweep.grids[hook]
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
    _hatch(ax, np.array([[scale.is_noise(value) for value in row] for row in grid.tolist()]))
    _rule(ax, *grid.shape)
    _mark_strongest(ax, sweep, hook)
    _label_axes(ax, sweep)
    ax.set_title(hook, fontsize=10, color=_INK, family="monospace", pad=6)
    return ax


def _panel_inches(sweep: Sweep) -> tuple[float, float]:
    columns, rows = len(sweep.positions), len(sweep.layers)
    column = 0.34 if columns <= 16 else 0.24 if columns <= _MANY else 0.14
    return max(columns * column, 1.6) + 0.5, min(max(rows * 0.15, 1.2), 12) + 0.9


def _label_axes(ax: Axes, sweep: Sweep) -> None:
    labels = [_drawable(fit(token_label(token), _LABEL_COLUMNS)) for token in sweep.tokens]
    size = 8 if len(labels) <= _MANY else 6
    ax.set_xticks(range(len(labels)), labels, rotation=90, fontsize=size, parse_math=False)
    step = next(step for step in (1, 2, 5, 10, 20, 10**6) if len(sweep.layers) / step <= 16)
    ticks = range(0, len(sweep.layers), step)
    ax.set_yticks(ticks, [str(sweep.layers[tick]) for tick in ticks], fontsize=8)
    ax.set_ylabel("layer", fontsize=8, color=_MUTED)
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


def _mark_strongest(ax: Axes, sweep: Sweep, hook: Hook) -> None:
    from matplotlib.patches import Rectangle

    found = sweep.argmax
    if found is None or found.hook != hook:
        return
    corner = (sweep.positions.index(found.position), sweep.layers.index(found.layer))
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


def _bar(figure: Figure, axes: list[Axes], sweep: Sweep) -> None:
    scale = Scale.of(sweep)
    drawn = axes[0].get_images()[0]
    share, aspect = (0.05, 28) if len(sweep.positions) <= _MANY else (0.02, 60)
    bar = figure.colorbar(drawn, ax=axes, fraction=share, pad=0.02, aspect=aspect)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2, labelsize=8, colors=_INK)
    if scale.low < scale.high:
        bar.ax.set_ylim(scale.low, scale.high)
    if scale.baseline is not None:
        bar.ax.axhline(scale.baseline, color=_INK, linewidth=0.8)
    bar.ax.set_ylabel(_drawable(metric_label(sweep)), fontsize=8, color=_INK, parse_math=False)


def _write_title(figure: Figure, sweep: Sweep) -> None:
    scale = Scale.of(sweep)
    columns = int(figure.get_size_inches()[0] * 11)
    name = baseline_label(sweep)
    lines = [visible(sweep.provenance.model)]
    if sweep.clean_prompt is not None:
        lines.append(f"clean    {visible(sweep.clean_prompt)}  ({name} {scale.text(sweep.clean)})")
    lines.append(f"corrupt  {visible(sweep.corrupt_prompt)}  ({name} {scale.text(sweep.corrupt)})")
    if sweep.argmax is not None:
        lines.append(f"largest  {site(sweep.argmax)}: {scale.text(sweep.argmax.value)}")
    figure.suptitle(
        "\n".join(_drawable(fit_middle(line, columns)) for line in lines),
        x=0.01,
        ha="left",
        fontsize=9,
        color=_INK,
        family="monospace",
        parse_math=False,
    )


@lru_cache(maxsize=4096)
def _drawable(text: str) -> str:
    from matplotlib import font_manager

    text = unicodedata.normalize("NFC", text)  # matplotlib does not place combining marks
    font = font_manager.get_font(font_manager.findfont(font_manager.FontProperties()))
    return "".join(c if c == "\n" or font.get_char_index(ord(c)) else "□" for c in text)
