"""What judging dictionaries found, as a picture: what is kept, and how often features are active.

Drawn from the plain values that `sonde sae eval --json` prints, so that it says what they say.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK = "#1c1f23"
_OWN, _OTHER = "#2f6fb0", "#c9822b"


def image(plain: Mapping[str, Any], kind: str) -> bytes:
    """A PNG or SVG file; the same numbers give the same bytes."""
    import matplotlib
    from matplotlib.figure import Figure

    other = plain.get("beside", {})
    columns = [name for name in plain if name not in ("each", "beside")]
    figure = Figure(layout="constrained")
    figure.set_size_inches(10, 0.8 + 2.3 * len(columns))
    axes = figure.subplots(len(columns), 2, squeeze=False)
    for (kept, often), name in zip(axes, columns, strict=True):
        _kept(kept, _by_kind(plain, name), _by_kind(other, name), f"layer {name}")
        _often(often, plain[name], other.get(name))
    if other:
        handles = [matplotlib.patches.Patch(color=color) for color in (_OWN, _OTHER)]
        figure.legend(handles, ["judged", "beside"], loc="outside upper right", frameon=False)
    target = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "sonde"}):
        metadata = {"Date": None} if kind == "svg" else {"Software": "sonde"}
        figure.savefig(target, format=kind, dpi=160, metadata=metadata)
    return target.getvalue()


def _by_kind(plain: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Numbers of one dictionary on all of the text and on every kind of it."""
    if name not in plain:
        return {}
    kinds = {kind: held[name] for kind, held in plain.get("each", {}).items()}
    return {"all": plain[name], **kinds}


def _kept(ax: Axes, own: Mapping[str, Any], other: Mapping[str, Any], title: str) -> None:
    """Variance unexplained by kind of text, and the cross-entropy that is recovered."""
    for sign, color, found in ((-1, _OWN, own), (1, _OTHER, other)):
        height = 0.4 if other else 0.7
        for row, (_, held) in enumerate(found.items()):
            if held["fvu"] is None:
                continue
            place = row + (sign * 0.2 if other else 0)
            ax.barh(place, held["fvu"], height=height, color=color)
            if held["ce_recovered"] is not None:
                said = f" {100 * held['ce_recovered']:.1f} %"
                ax.text(held["fvu"], place, said, va="center", fontsize=7, color=_INK)
    ax.set_yticks(range(len(own)), [*own], fontsize=8, parse_math=False)
    ax.invert_yaxis()
    ax.margins(x=0.18)
    ax.set_title(f"{title}: variance unexplained; cross-entropy recovered", fontsize=9, loc="left")
    _plain(ax)


def _often(ax: Axes, own: Mapping[str, Any], other: Mapping[str, Any] | None) -> None:
    """Features by how often they are active, on a scale of decades."""
    for color, held in ((_OWN, own), (_OTHER, other)):
        if held and held["density"]:
            edges, counts = held["density"]["edges"], held["density"]["features"]
            share = [n / held["features"] for n in counts]
            ax.stairs(share, edges, color=color, fill=held is own and other is None, linewidth=1.6)
    ax.set_xscale("log")
    ax.axvline(0.1, color=_INK, linewidth=0.8, linestyle=":")
    ax.set_title("share of features, by how often they are active", fontsize=9, loc="left")
    _plain(ax)


def _plain(ax: Axes) -> None:
    ax.tick_params(length=2, labelsize=8, colors=_INK)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
