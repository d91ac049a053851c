"""A sweep over pairs as tables: every cell with its statistics, or the strongest for a paper."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from sonde.results.tokens import visible
from sonde.results.views import Coordinates, Side

if TYPE_CHECKING:
    from sonde.results.pairs import PairSweep
    from sonde.schema import Hook

COLUMNS = ("n", "mean", "low", "high", "t", "p", "q", "share_positive")
_ESCAPES = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def to_csv(sweep: PairSweep) -> str:
    """One line a cell: hook, its place on each axis, metric, and the statistics."""
    axes = list(dict.fromkeys(axis.name for view in sweep.views for axis in view.axes))
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(["hook", *axes, "metric", *COLUMNS])
    for hook, place, numbers in rows(sweep):
        at = {each.axis: each.value for each in place}
        told = [None if np.isnan(value) else value for value in numbers]
        writer.writerow([hook, *(at.get(axis) for axis in axes), sweep.metric, *told])
    return text.getvalue()


def to_latex(sweep: PairSweep, k: int) -> str:
    """The k cells with the greatest |t|, with their intervals; needs the package booktabs."""
    every = list(rows(sweep))
    t = COLUMNS.index("t")
    order = sorted(range(len(every)), key=lambda i: -np.nan_to_num(abs(every[i][2][t]), nan=-1))
    lines = []
    for i in order[:k]:
        hook, place, (n, mean, low, high, t_value, p, q, share) = every[i]
        where = ", ".join(map(str, place))
        lines.append(
            f"{_tex(hook)} & {_tex(where)} & {mean:.3f} & [{low:.3f}, {high:.3f}] & {t_value:.1f} "
            f"& {_p(p)} & {_p(q)} & {share:.2f} & {n:.0f} \\\\"
        )
    how = sweep.effects
    unit = "clusters" if sweep.clusters else "pairs"
    return "\n".join(
        [
            f"% {visible(sweep.provenance.model)}, {sweep.metric} over {len(sweep.records)} pairs",
            f"% {how.level:.0%} {how.method} intervals, {how.resamples} resamples over "
            f"{how.clusters} {unit}; p family-wise over {len(how.p)} cells",
            r"\begin{tabular}{llrrrrrrr}",
            r"\toprule",
            _tex_percent(f"hook & site & mean & {how.level:.0%} interval")
            + r" & $t$ & $p$ & $q$ & positive & $n$ \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def rows(sweep: PairSweep) -> Iterator[tuple[Hook, Coordinates, list[float]]]:
    """Every cell: its hook, its place on each axis, the numbers under `COLUMNS`."""
    found, start = sweep.effects, 0
    for view in sweep.views:
        grids = [
            getattr(sweep, name)[view.hook].ravel().tolist() for name in COLUMNS if name != "n"
        ]
        places = Side(view.axes).places
        n = found.n[start : start + len(places)]
        start += len(places)
        for place, many, *numbers in zip(places, n, *grids, strict=True):
            yield view.hook, place, [float(many), *numbers]


def _p(value: float) -> str:
    return "--" if np.isnan(value) else "$<$0.001" if value < 0.001 else f"{value:.3f}"


def _tex_percent(text: str) -> str:
    return text.replace("%", r"\%")


def _tex(text: str) -> str:
    return "".join(_ESCAPES.get(c, c) for c in visible(text))
