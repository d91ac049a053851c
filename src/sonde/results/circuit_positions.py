"""Nodes at single positions drawn as SVG: layers upwards, positions across.

A node stands in the cell of its layer and position, several of them side by side. As in the picture
by heads, the border's width is the size of the effect, its colour the sign, and dashed is what was
only attributed.
"""

from collections import defaultdict
from html import escape
from typing import Final

from sonde.results.circuit_picture import BOX_HEIGHT, THICK, THIN, Ink, label, short, value_of
from sonde.results.numbers import number
from sonde.results.tokens import fit
from sonde.schema.circuit import Circuit, CircuitNode

BOX: Final = 46.0
GAP: Final = 5.0
LEFT: Final = 70.0
UP: Final = 32.0
TOP: Final = 92.0
FOOT: Final = 56.0
LETTERS: Final = 14
"""Of a position's name, at most."""

Cells = dict[tuple[int, str], list[CircuitNode]]


def draw_positions(circuit: Circuit, *, dark: bool = False) -> str:
    """The picture of a circuit of nodes at single positions."""
    ink = Ink.of("dark" if dark else "light")
    cells = _cells(circuit)
    layers = sorted({layer for layer, _ in cells}, reverse=True)
    places = [place for place in circuit.positions or [] if any(at == place for _, at in cells)]
    most = max(abs(value_of(node)) for node in circuit.nodes or []) or 1.0
    lefts, x = {}, LEFT
    for place in places:
        lefts[place] = x
        wide = max(len(nodes) for (_, at), nodes in cells.items() if at == place)
        x += max(wide * (BOX + GAP), min(len(place), LETTERS) * 6.4) + 2 * GAP
    width, height = max(x, 420.0), TOP + len(layers) * UP + FOOT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {short(width)} {short(height)}" '
        f'width="{short(width)}" height="{short(height)}" role="img" '
        'font-family="ui-monospace, Menlo, Consolas, monospace">',
        f'<rect width="{short(width)}" height="{short(height)}" fill="{ink.page}"/>',
        _text(16, 24, _title(circuit), 13, ink.text),
        _text(16, 42, f"strongest by {circuit.scores} ({circuit.rule})", 10, ink.faint),
        *(_text(lefts[at], TOP - 16, fit(at, LETTERS), 10, ink.text) for at in places),
    ]
    for row, layer in enumerate(layers):
        y = TOP + row * UP
        lines.append(_text(16, y + 14, f"layer {layer}", 9, ink.faint))
        for at in places:
            for n, node in enumerate(cells.get((layer, at), [])):
                lines.append(_box(node, lefts[at] + n * (BOX + GAP), y, most, ink))
    said = f"widest: {number(most)}; orange raises the metric, blue lowers it; dashed: attributed"
    lines += [_text(16, height - 18, said, 9, ink.faint), "</svg>"]
    return "\n".join(lines) + "\n"


def _cells(circuit: Circuit) -> Cells:
    """The nodes of every layer and position, heads before the MLP."""
    found: Cells = defaultdict(list)
    for node in circuit.nodes or []:
        layer = int(node.node.partition(":")[2].partition(".")[0])
        found[layer, node.at or ""].append(node)
    for nodes in found.values():
        nodes.sort(key=lambda node: (node.node.startswith("mlp"), len(node.node), node.node))
    return dict(found)


def _title(circuit: Circuit) -> str:
    of = f" of {circuit.model}" if circuit.model else ""
    return f"{len(circuit.nodes or []):,} of {circuit.scored:,} nodes{of}, by position"


def _box(node: CircuitNode, x: float, y: float, most: float, ink: Ink) -> str:
    value = value_of(node)
    known = node.exact is not None
    told = f"{node.node} at {node.at}: {number(value)}{'' if known else ', attributed only'}"
    dash = "" if known else ' stroke-dasharray="4 3"'
    thick = THIN + (THICK - THIN) * abs(value) / most
    return (
        f'<g><title>{escape(told)}</title><rect x="{short(x)}" y="{short(y)}" '
        f'width="{short(BOX)}" height="{short(BOX_HEIGHT)}" rx="4" fill="{ink.box}" '
        f'stroke="{ink.higher if value >= 0 else ink.lower}" stroke-width="{short(thick)}"'
        f"{dash}/>"
        f"{_text(x + 5, y + 15, label(node.node), 9.5, ink.text)}</g>"
    )


def _text(x: float, y: float, text: str, size: float, fill: str) -> str:
    return (
        f'<text x="{short(x)}" y="{short(y)}" font-size="{short(size)}" fill="{fill}">'
        f"{escape(text)}</text>"
    )
