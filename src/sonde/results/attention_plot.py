"""Attention as a matplotlib figure: a matrix a head, or one a score, on one scale from 0 to 1."""

from __future__ import annotations

import io
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from sonde.results.attention_panels import Panel, panels
from sonde.results.colors import colormap
from sonde.results.plot import drawable
from sonde.results.tokens import fit, fit_middle, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sonde.results.attention import Attention

_INK, _EMPTY = "#1c1f23", "#ffffff"
_ACROSS = 4
_LABEL = 14


def image(found: Attention, kind: str) -> bytes:
    """A PNG or SVG file; the same result gives the same bytes."""
    import matplotlib
    from matplotlib.figure import Figure

    shown = panels(found)
    across = min(len(shown), _ACROSS)
    down = ceil(len(shown) / across)
    rows, columns = shown[0].values.shape
    width = max(columns * 0.24, 1.6) + 1.2
    height = max(rows * (0.24 if found.scores is None else 0.16), 1.6) + 1.2
    figure = Figure(layout="constrained")
    figure.set_size_inches(max(across * width + 0.9, 6.4), down * height + 0.7)
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for ax, panel in zip(axes, shown, strict=False):
        _draw(ax, panel)
    for ax in axes[len(shown) :]:
        ax.set_visible(False)
    bar = figure.colorbar(axes[0].get_images()[0], ax=list(axes), fraction=0.04, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2, labelsize=8, colors=_INK)
    bar.ax.set_ylabel("attention", fontsize=8, color=_INK)
    title = f"{visible(found.provenance.model)}\n{visible(''.join(found.tokens))}"
    room = int(figure.get_size_inches()[0] * 11)
    figure.suptitle(
        "\n".join(drawable(fit_middle(line, room)) for line in title.splitlines()),
        x=0.01, ha="left", fontsize=9, color=_INK, family="monospace", parse_math=False,
    )  # fmt: skip
    target = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "sonde"}):
        metadata = {"Date": None} if kind == "svg" else {"Software": "sonde"}
        figure.savefig(target, format=kind, dpi=200, metadata=metadata)
    return target.getvalue()


def _draw(ax: Axes, panel: Panel) -> None:
    rows, columns = panel.values.shape
    ax.imshow(
        np.ma.masked_invalid(panel.values), cmap=colormap("sequential"), vmin=0, vmax=1,
        aspect="auto", interpolation="nearest",
    )  # fmt: skip
    ax.set_facecolor(_EMPTY)
    for ticks, labels, put in (
        (columns, panel.columns, ax.set_xticks),
        (rows, panel.rows, ax.set_yticks),
    ):
        step = next(step for step in (1, 2, 5, 10, 20, 10**6) if ticks / step <= 40)
        some = range(0, ticks, step)
        texts = [drawable(fit(labels[i], _LABEL)) for i in some]
        put(some, texts, fontsize=7, parse_math=False)
    rotated = max(map(len, panel.columns)) > 2
    ax.tick_params(length=0, colors=_INK, pad=3)
    ax.tick_params(axis="x", rotation=90 if rotated else 0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_title(panel.title, fontsize=10, color=_INK, family="monospace", pad=6)
