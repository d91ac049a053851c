"""A circuit drawn as SVG, by itself: no library, no script, the same bytes for the same circuit.

Layers go upwards from the embedding to the logits, heads go across, and the MLP stands beside them.
An edge rises from its sender to its receiver; queries, keys and values are entered at the left, the
middle and the right of a head's box. Keys and values that several heads share are entered between
them. Width is the size of the effect, colour its sign; solid was run exactly, dashed only
attributed. Layers of which nothing is in the circuit are folded into a thin line.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, NamedTuple

from sonde.nodes import SHARED, WITH_HEAD, WITHOUT_LAYER
from sonde.results.colors import Theme, css, diverging
from sonde.results.numbers import number
from sonde.schema.circuit import Circuit, CircuitEdge, CircuitNode, CircuitShape

BOX_WIDTH: Final = 54.0
BOX_HEIGHT: Final = 22.0
ACROSS: Final = 66.0
UP: Final = 64.0
UP_BARE: Final = 34.0
"""Between layers where no edges have to be told apart."""
BOW: Final = 70.0
"""How far an edge may swing out that rises past boxes of its own column."""
FOLDED: Final = 12.0
LEFT: Final = 62.0
TOP: Final = 64.0
FOOT: Final = 78.0
THIN, THICK = 0.7, 5.5
LEAST_WIDTH: Final = 560.0


class Point(NamedTuple):
    """A place on the page."""

    x: float
    y: float


@dataclass(frozen=True)
class Ink:
    """Colours of a theme."""

    page: str
    text: str
    faint: str
    box: str
    higher: str
    lower: str

    @classmethod
    def of(cls, theme: Theme) -> "Ink":
        dark = theme == "dark"
        return cls(
            page="#15181c" if dark else "#ffffff",
            text="#e6e8ea" if dark else "#1c1f23",
            faint="#8b939b" if dark else "#7c848c",
            box="#22272d" if dark else "#f3f4f2",
            higher=css(diverging(0.75, theme)),
            lower=css(diverging(-0.75, theme)),
        )


def draw(circuit: Circuit, *, most: int = 400, dark: bool = False) -> str:
    """The picture of the strongest edges, `most` of them; of nodes, boxes alone."""
    edges = list(circuit.edges or [])[:most]
    page = _Page(circuit, edges, Ink.of("dark" if dark else "light"))
    return page.svg()


class _Page:
    """One drawing, laid out."""

    def __init__(self, circuit: Circuit, edges: Sequence[CircuitEdge], ink: Ink) -> None:
        self._circuit, self._edges, self._ink = circuit, edges, ink
        self._shape: CircuitShape = circuit.shape
        self._nodes = self._used()
        self._rows = self._laid_rows()
        self._height = max(self._rows.values()) + TOP + FOOT
        self._width = max(LEFT + (self._shape.heads + 1) * ACROSS + BOW, LEAST_WIDTH)
        sizes = [abs(value_of(edge)) for edge in edges] or [
            abs(value_of(node)) for node in circuit.nodes or []
        ]
        self._most = max(sizes, default=0.0) or 1.0

    # Where things are.

    def _used(self) -> set[str]:
        """The boxes that are drawn: names of senders; a receiver is drawn as its node."""
        if self._circuit.nodes is not None:
            return {"embed", "logits", *(node.node for node in self._circuit.nodes)}
        out = {"logits"}
        for edge in self._edges:
            out.add(edge.sender)
            out.update(self._boxes(edge.receiver))
        return out

    def _boxes(self, receiver: str) -> list[str]:
        """The nodes that a receiver belongs to: of shared keys and values, all that read them."""
        kind, layer, head = _parts(receiver)
        if kind == "mlp":
            return [f"mlp_out:{layer}"]
        if kind in SHARED:
            group = self._shape.heads // self._shape.kv_heads
            return [f"z:{layer}.{head * group + n}" for n in range(group)]
        return [f"z:{layer}.{head}"] if kind in WITH_HEAD else [receiver]

    def _laid_rows(self) -> dict[int, float]:
        """How far up each layer is: -1 the embedding, `n_layers` the logits."""
        used = {_parts(name)[1] for name in self._nodes if name not in ("embed", "logits")}
        step = UP if self._edges else UP_BARE
        rows, up = {-1: 0.0}, 0.0
        for layer in range(self._shape.n_layers):
            up += step if layer in used else FOLDED
            rows[layer] = up
        rows[self._shape.n_layers] = up + step
        return rows

    def _y(self, layer: int) -> float:
        return self._height - FOOT - self._rows[layer]

    def _centre(self, node: str) -> Point:
        kind, layer, head = _parts(node)
        middle = LEFT + self._shape.heads * ACROSS / 2
        if kind == "embed":
            return Point(middle, self._y(-1))
        if kind == "logits":
            return Point(middle, self._y(self._shape.n_layers))
        is_mlp = kind not in WITH_HEAD
        column = self._shape.heads if is_mlp else head
        later = is_mlp and not self._shape.parallel and bool(self._edges)
        lift = BOX_HEIGHT * 0.6 if later else 0.0
        return Point(LEFT + (column + 0.5) * ACROSS, self._y(layer) - lift)

    def _entry(self, receiver: str) -> Point:
        """Where an edge ends: below a box, queries left, keys in the middle, values right."""
        kind = _parts(receiver)[0]
        some = [self._centre(box) for box in self._boxes(receiver)]
        x = sum(point.x for point in some) / len(some)
        shift = {"q": -0.3, "v": 0.3}.get(kind, 0.0) * BOX_WIDTH
        return Point(x + shift, some[0].y + BOX_HEIGHT / 2)

    # What is drawn.

    def svg(self) -> str:
        """The whole file."""
        ink, w, h = self._ink, short(self._width), short(self._height)
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" '
            f'height="{h}" role="img" aria-label="{escape(self._title())}" '
            'font-family="ui-monospace, Menlo, Consolas, monospace">',
            f'<rect width="{w}" height="{h}" fill="{ink.page}"/>',
            self._text(Point(16, 24), self._title(), size=13),
            self._text(Point(16, 42), self._subtitle(), size=10, fill=ink.faint),
            *self._layers(),
            '<g fill="none" stroke-linecap="round">',
            *(self._edge(edge) for edge in reversed(self._edges)),
            "</g>",
            *self._drawn_boxes(),
            *self._legend(),
            "</svg>",
        ]
        return "\n".join(lines) + "\n"

    def _title(self) -> str:
        held = self._circuit.edges or self._circuit.nodes or []
        kind = "edges" if self._circuit.edges else "nodes"
        drawn = f", {len(self._edges):,} drawn" if 0 < len(self._edges) < len(held) else ""
        of = f" of {self._circuit.model}" if self._circuit.model else ""
        return f"{len(held):,} of {self._circuit.scored:,} {kind}{of}{drawn}"

    def _subtitle(self) -> str:
        metric = f", {self._circuit.metric}" if self._circuit.metric else ""
        return f"strongest by {self._circuit.scores} ({self._circuit.rule}){metric}"

    def _layers(self) -> list[str]:
        out = []
        right = LEFT + (self._shape.heads + 1) * ACROSS
        used = {_parts(name)[1] for name in self._nodes if name not in ("embed", "logits")}
        for layer in range(self._shape.n_layers):
            y = self._y(layer)
            if layer in used:
                out.append(self._text(Point(16, y + 4), f"layer {layer}"[-9:], size=9,
                                      fill=self._ink.faint))  # fmt: skip
            else:
                out.append(
                    f'<line x1="{short(LEFT)}" x2="{short(right)}" y1="{short(y)}" y2="{short(y)}" '
                    f'stroke="{self._ink.faint}" stroke-opacity="0.18" stroke-width="0.6">'
                    f"<title>layer {layer}: nothing in the circuit</title></line>"
                )
        return out

    def _drawn_boxes(self) -> list[str]:
        scores = {node.node: value_of(node) for node in self._circuit.nodes or []}
        known = {node.node for node in self._circuit.nodes or [] if node.exact is not None}
        out = []
        for name in sorted(self._nodes, key=lambda each: (self._centre(each), each)):
            at = self._centre(name)
            value = scores.get(name)
            stroke, width, dash, said = self._ink.faint, 0.8, "", name
            if value is not None:
                stroke, width = self._color(value), max(1.2, self._thick(value))
                dash = "" if name in known else ' stroke-dasharray="4 3"'
                said = f"{name} {number(value)}{'' if name in known else ', attributed'}"
            out.append(
                f'<g><title>{escape(said)}</title><rect x="{short(at.x - BOX_WIDTH / 2)}" '
                f'y="{short(at.y - BOX_HEIGHT / 2)}" width="{short(BOX_WIDTH)}" '
                f'height="{short(BOX_HEIGHT)}" rx="4" fill="{self._ink.box}" stroke="{stroke}" '
                f'stroke-width="{short(width)}"{dash}/>'
                + self._text(Point(at.x, at.y + 4), label(name), size=10, anchor="middle")
                + "</g>"
            )
        return out

    def _edge(self, edge: CircuitEdge) -> str:
        centre, end, value = self._centre(edge.sender), self._entry(edge.receiver), value_of(edge)
        start = Point(centre.x, centre.y - BOX_HEIGHT / 2)
        rise = start.y - end.y
        bend, bow = max(18.0, rise * 0.45), 0.0
        if start.x == end.x and rise > UP:  # past the boxes between
            bend, bow = rise * 0.25, BOX_WIDTH / 2 + min(rise / 12, BOW)
        path = (
            f"M{short(start.x)} {short(start.y)}C{short(start.x + bow)} {short(start.y - bend)} "
            f"{short(end.x + bow)} {short(end.y + bend)} {short(end.x)} {short(end.y)}"
        )
        exact = edge.exact is not None
        told = f"{number(value)} exactly, {number(edge.score)} attributed" if exact else (
            f"{number(value)}, attributed only"
        )  # fmt: skip
        dash = "" if exact else ' stroke-dasharray="5 4"'
        said = escape(f"{edge.sender} → {edge.receiver}: {told}")
        return (
            f'<path d="{path}" stroke="{self._color(value)}" stroke-opacity="0.8" '
            f'stroke-width="{short(self._thick(value))}"{dash}><title>{said}</title></path>'
        )

    def _legend(self) -> list[str]:
        y = self._height - 26
        ink, out, x = self._ink, [], 16.0
        for words, color, dash in (
            ("raises the metric", ink.higher, ""),
            ("lowers it", ink.lower, ""),
            ("run exactly", ink.text, ""),
            ("attributed only", ink.text, ' stroke-dasharray="5 4"'),
        ):
            out.append(
                f'<line x1="{short(x)}" x2="{short(x + 26)}" y1="{short(y)}" y2="{short(y)}" '
                f'stroke="{color}" stroke-width="2.4"{dash}/>'
            )
            out.append(self._text(Point(x + 32, y + 3.5), words, size=10))
            x += 32 + len(words) * 6.2 + 18
        widest = f"widest: {number(self._most)}; a head is entered at q (left), k, v (right)"
        return [*out, self._text(Point(16, y + 18), widest, size=9, fill=ink.faint)]

    def _thick(self, value: float) -> float:
        return THIN + (THICK - THIN) * abs(value) / self._most

    def _color(self, value: float) -> str:
        return self._ink.higher if value >= 0 else self._ink.lower

    def _text(
        self, at: Point, text: str, *, size: int, fill: str | None = None, anchor: str = "start"
    ) -> str:
        return (
            f'<text x="{short(at.x)}" y="{short(at.y)}" font-size="{size}" '
            f'fill="{fill or self._ink.text}" text-anchor="{anchor}">{escape(text)}</text>'
        )


def value_of(part: CircuitEdge | CircuitNode) -> float:
    """What it is worth: exactly, where that is known."""
    return part.score if part.exact is None else part.exact


def _parts(name: str) -> tuple[str, int, int]:
    """Kind, layer and head; 0 where there is none."""
    kind, _, rest = name.partition(":")
    layer, _, head = rest.partition(".")
    return kind, int(layer or 0), int(head or 0)


def label(node: str) -> str:
    kind, layer, head = _parts(node)
    if kind in WITH_HEAD:
        return f"{layer}.{head}"
    return kind if kind in WITHOUT_LAYER else f"mlp {layer}"


def short(value: float) -> str:
    """A number for SVG, as short as it is exact enough."""
    text = f"{value:.1f}"
    return text.removesuffix(".0")
