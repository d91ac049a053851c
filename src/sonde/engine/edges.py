"""The cells of a sweep over edges and paths: senders × receivers, with the row behind every cell.

A sender's writes take from the clean run, or from any other source of a sweep. What is run is the
receiver: set to what it would have, if the stream that it reads held what those writes change.
Receiver `logits` is the direct effect, `total` the ordinary patch of the sender.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import Literal

from sonde.backends.base import FromRun, FromSenders, Row, Site, Write
from sonde.engine.columns import Columns, columns_of
from sonde.engine.controls import ControlRow
from sonde.engine.setting import Setting, of_edges
from sonde.engine.sites import Cells, own_run, site_cells
from sonde.engine.sources import SourceOf, Span, sources_of, zeros
from sonde.engine.trial import Panel
from sonde.errors import BadRequest
from sonde.nodes import Graph, Node, Nodes, name_of, sent_at
from sonde.schema import Hook
from sonde.schema.table import Axis, SweepRequest, Table

ADDS: dict[str, Hook] = {"embed": "pre_attn", "z": "z", "mlp_out": "mlp_out"}
"""Where what a sender adds is written."""
READS: dict[str, Hook] = {"q": "q", "k": "k", "v": "v", "mlp": "mlp_out", "logits": "post_block"}
"""Where what a receiver makes of its stream is set."""
ControlKind = Literal["alpha_zero", "self_patch"]


@dataclass(frozen=True)
class _Edges:
    """The rows of one prompt."""

    setting: Setting
    graph: Graph
    senders: Sequence[Nodes]
    receivers: Sequence[Nodes]
    columns: Columns
    sources: Sequence[SourceOf]
    """One for each column."""
    _made: dict[tuple[int, int], FromSenders] = field(default_factory=dict)
    _sites: dict[tuple[int, int], list[Site]] = field(default_factory=dict)

    @property
    def _shape(self) -> tuple[int, ...]:
        shape = len(self.senders), len(self.receivers)
        return shape if self.columns.axis is None else (*shape, len(self.columns.each))

    @cached_property
    def panel(self) -> Panel:
        """The row of every sender and receiver that an edge joins."""
        columns = 1 if self.columns.axis is None else len(self.columns.each)
        absent = _absent(self.graph, tuple(self.senders), tuple(self.receivers), columns)
        return Panel(self._shape, self.row, absent)

    def row(self, place: tuple[int, ...]) -> Row:
        """What is run in a cell."""
        sender, receiver = place[0], place[1]
        column = 0 if self.columns.axis is None else place[2]
        ends = self.receivers[receiver]
        if ends[0].kind == "total":
            return Row(self.writes(sender, column))
        source = self.source(sender, column)
        if (receiver, column) not in self._sites:  # one object for all that send to it
            self._sites[receiver, column] = [self.site(end, column) for end in ends]
        return Row(tuple([Write(site, source) for site in self._sites[receiver, column]]))

    def source(self, sender: int, column: int) -> FromSenders:
        """What some senders change: one object for all that read it."""
        if (sender, column) not in self._made:
            mlps = self.setting.request.frozen == "path+mlps"
            self._made[sender, column] = FromSenders(self.writes(sender, column), mlps)
        return self._made[sender, column]

    def writes(self, sender: int, column: int) -> tuple[Write, ...]:
        """What is put down at some senders."""
        positions, source = self.columns.each[column].positions, self.sources[column]
        sites = [
            Site(ADDS[node.kind], node.layer or 0, positions, node.head)
            for node in self.senders[sender]
        ]
        alpha = self.setting.request.alpha
        return tuple([Write(site, source(site), alpha) for site in sites])

    def site(self, receiver: Node, column: int) -> Site:
        """Where a receiver's value is set: of logits, where they are read, if anything is sent."""
        positions = self.columns.each[column].positions
        if receiver.kind != "logits":
            assert receiver.layer is not None
            return Site(READS[receiver.kind], receiver.layer, positions, receiver.head)
        end = len(self.setting.corrupt) - 1
        where = (end,) if end in positions else positions
        return Site("post_block", self.graph.n_layers - 1, where)

    def table(self) -> Table:
        """The empty table."""
        sent, read = [name_of(n) for n in self.senders], [name_of(n) for n in self.receivers]
        axes = [
            Axis(name="sender", values=list(sent), labels=sent),
            Axis(name="receiver", values=list(read), labels=read),
        ]
        if self.columns.axis is not None:
            axes.append(self.columns.axis)
        return Table(hook="post_block", axes=axes, values={})

    def controls(self) -> list[ControlRow]:
        """Of every kind of receiver one edge that carries nothing: it must give the baseline."""
        first: dict[str, tuple[int, int]] = {}
        middle = len(self.senders) // 2
        order = sorted(range(len(self.senders)), key=lambda s: abs(s - middle))
        for r, receiver in enumerate(self.receivers):
            s = next((s for s in order if _joined(self.graph, self.senders[s], receiver)), None)
            if s is not None and receiver[0].kind not in first:
                first[receiver[0].kind] = s, r
        column = len(self.columns.each) // 2
        each = [(self.writes(s, column), self.receivers[r][0]) for s, r in first.values()]
        own = self._own([write for writes, _ in each for write in writes])
        rows = []
        for writes, end in each:
            nothing = tuple([replace(write, alpha=0.0) for write in writes])
            rows.append(self._control("alpha_zero", nothing, end, column))
            if own is None:
                continue
            same = tuple(
                [replace(w, source=FromRun(own, w.site.positions), alpha=1.0) for w in writes]
            )
            rows.append(self._control("self_patch", same, end, column))
        return rows

    def _control(
        self, kind: ControlKind, writes: tuple[Write, ...], receiver: Node, column: int
    ) -> ControlRow:
        """The receiver, of writes that change nothing; in place of `total`, the first of them."""
        if receiver.kind == "total":
            return ControlRow(kind, writes[0])
        mlps = self.setting.request.frozen == "path+mlps"
        return ControlRow(kind, Write(self.site(receiver, column), FromSenders(writes, mlps)))

    def _own(self, writes: Sequence[Write]) -> str | None:
        """The corrupt prompt's own activations at some senders."""
        hooks = list(dict.fromkeys(write.site.hook for write in writes))
        return own_run(self.setting, hooks, writes)


def _joined(graph: Graph, sender: Nodes, receiver: Nodes) -> bool:
    """Whether any of these senders comes before any of these receivers."""
    return any(graph.reaches(one, other) for one in sender for other in receiver)


@lru_cache(maxsize=4)
def _absent(
    graph: Graph, senders: tuple[Nodes, ...], receivers: tuple[Nodes, ...], columns: int
) -> frozenset[int]:
    """The cells that no edge joins; many pairs ask for the same."""
    pairs = product(senders, receivers)
    apart = [n for n, (one, other) in enumerate(pairs) if not _joined(graph, one, other)]
    return frozenset(n * columns + column for n in apart for column in range(columns))


def table_cells(setting: Setting, *, reckoned: bool = False) -> Cells:
    """The cells of whatever a request is about: edges where senders are named, else sites."""
    if not of_edges(setting.request):
        return site_cells(setting, reckoned=reckoned)
    return edge_cells(setting, reckoned=reckoned)


def edge_cells(setting: Setting, *, reckoned: bool = False) -> Cells:
    """One table: senders by receivers, by positions, unless together."""
    request = setting.request
    assert request.senders is not None
    assert request.receivers is not None
    graph = Graph.of(setting.model)
    senders = graph.chosen(request.senders, "sender")
    receivers = graph.chosen(request.receivers, "receiver")
    _check_joined(receivers, request)
    hooks = [hook for kind, hook in ADDS.items() if any(n.kind == kind for s in senders for n in s)]
    columns = columns_of(setting, hooks, len(senders) * len(receivers))
    layers = sorted({node.layer or 0 for sender in senders for node in sender})
    takes = [column.sources for column in columns.each]
    nothing = [zeros(setting)] * len(takes)
    sources = nothing if reckoned else sources_of(setting, Span(hooks, layers), takes)
    made = _Edges(setting, graph, senders, receivers, columns, sources)
    if not made.panel.n_cells:
        last = max(sent_at(node) for sender in senders for node in sender) // 2
        raise BadRequest(
            f"no edge: every receiver comes before every sender, the last of which is in layer "
            f"{last}; name later receivers, or logits"
        )
    controls = [] if reckoned else made.controls()
    return Cells([made.table()], [made.panel], controls, columns)


def _check_joined(receivers: Sequence[Nodes], request: SweepRequest) -> None:
    """Receivers that are written at once can be, and are asked for as a path."""
    for several in receivers:
        name = name_of(several)
        if len(several) == 1:
            continue
        whole = [node.kind for node in several if node.kind in ("logits", "total")]
        if whole:
            raise BadRequest(f"receiver {name!r}: {whole[0]} stands alone; name it by itself")
        if (request.frozen or "edge") == "edge":
            raise BadRequest(
                f"receiver {name!r}: an edge has one receiver; several at once are a path, "
                "frozen='path'"
            )
