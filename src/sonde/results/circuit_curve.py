"""How much of the model circuits of several sizes are: as lines of text, and as a figure."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sonde.results.colors import css, diverging, sequential
from sonde.results.numbers import count, number
from sonde.schema.circuit import (
    CircuitCurve,
    CircuitEdge,
    CircuitEvaluation,
    CircuitNode,
    CircuitRule,
    Share,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES: Final = (".json", ".svg", ".png")
RULES: Final = {
    "absolute": "strongest either way",
    "signed": "strongest upwards",
    "random": "at random",
}
_INK = "#1c1f23"


def lines(found: CircuitEvaluation) -> list[str]:
    """A table for a terminal: faithfulness and completeness of every size, with its interval."""
    out = [
        f"{count(found.size, found.kind[:-1])} of {found.of:,}, on {count(found.pairs, 'pair')}; "
        f"{found.metric} {number(found.outside)} outside, {number(found.inside)} in the model"
    ]
    for curve in found.curves:
        out += ["", f"{RULES[curve.rule]}{_areas(curve)}"]
        out.append(f"{'size':>9} {'share':>8}   {'faithfulness':<26} completeness")
        out += [
            f"{point.size:>9,} {point.share:>8.2%}   {_told(point.faithfulness):<26} "
            f"{_told(point.completeness)}"
            for point in curve.points
        ]
    said = f"the model put together edge by edge is {number(found.noise_floor)} from the model"
    out += ["", said]
    out += [f"{count(len(some), 'pair')} dropped: {why}" for why, some in _dropped(found).items()]
    out += [f"warning: {warning}" for warning in found.warnings]
    return out


def _areas(curve: CircuitCurve) -> str:
    if curve.cpr is None or curve.cmd is None:
        return ""
    return f": CPR {curve.cpr:.3f}, CMD {curve.cmd:.3f}"


def _told(share: Share) -> str:
    if share.mean is None:
        return share.reason or "none"
    if share.low is None or share.high is None:
        return f"{share.mean:.3f}"
    return f"{share.mean:.3f} ({share.low:.3f} to {share.high:.3f})"


def _dropped(found: CircuitEvaluation) -> dict[str, list[int]]:
    out: dict[str, list[int]] = {}
    for each in found.dropped:
        out.setdefault(each.reason.partition(":")[0], []).append(each.pair)
    return out


def image(found: CircuitEvaluation, kind: str) -> bytes:
    """A PNG or SVG: both curves on a logarithmic axis of sizes, with their intervals."""
    import matplotlib
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained", figsize=(9.0, 3.8))
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    for ax, name in ((left, "faithfulness"), (right, "completeness")):
        for curve in found.curves:
            points = curve.points
            faithful = ax is left
            _draw(ax, curve, [p.faithfulness if faithful else p.completeness for p in points])
        ax.axhline(1.0, color=_INK, linewidth=0.6, alpha=0.4)
        ax.axhline(0.0, color=_INK, linewidth=0.6, alpha=0.4)
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(lambda share, _: f"{share * 100:g} %")
        ax.set_title(name, fontsize=10, color=_INK, loc="left")
        ax.set_xlabel(f"share of {found.of:,} {found.kind}", fontsize=9, color=_INK)
        ax.tick_params(labelsize=8, colors=_INK)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    left.legend(fontsize=8, frameon=False)
    target = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "sonde"}):
        metadata = {"Date": None} if kind == "svg" else {"Software": "sonde"}
        figure.savefig(target, format=kind, dpi=200, metadata=metadata)
    return target.getvalue()


def color(rule: CircuitRule | str) -> str:
    """Of a curve: orange by size, blue by sign, grey at random."""
    return {"absolute": css(diverging(0.7)), "signed": css(diverging(-0.7))}.get(
        rule, css(sequential(0.25))
    )


def _draw(ax: Axes, curve: CircuitCurve, shares: Sequence[Share]) -> None:
    """One curve; a gap where it has no number."""
    x = [point.share for point in curve.points]
    mean, low, high = (
        [math.nan if value is None else value for value in each]
        for each in zip(*((s.mean, s.low, s.high) for s in shares), strict=True)
    )
    ax.plot(
        x, mean, color=color(curve.rule), marker="o", markersize=3, linewidth=1.4,
        label=RULES[curve.rule],
    )  # fmt: skip
    ax.fill_between(x, low, high, color=color(curve.rule), alpha=0.18, linewidth=0)


def encoded(found: CircuitEvaluation, suffix: str) -> bytes:
    """The bytes of a file."""
    if suffix == ".json":
        return (found.model_dump_json(indent=1) + "\n").encode()
    return image(found, suffix.removeprefix("."))


def strongest(parts: Sequence[CircuitEdge | CircuitNode], most: int) -> list[str]:
    """The first edges or nodes of a circuit, a line each."""
    out = []
    for part in parts[:most]:
        name = f"{part.sender} → {part.receiver}" if isinstance(part, CircuitEdge) else part.node
        told = "attributed only" if part.exact is None else f"{number(part.exact)} exactly"
        out.append(f"{name:<24} {number(part.score):>10}   {told}")
    if len(parts) > most:
        out.append(f"and {len(parts) - most:,} more")
    return out
