"""The ends of edges: what adds to the residual stream, and what reads it.

Senders are the embedding (`embed`), heads (`z:9.6`, layer and head) and MLPs (`mlp_out:3`).
Receivers are a head's query, key or value (`q:12.4`, `k:12.1`, `v:12.1`; keys and values counted as
the model has them), an MLP (`mlp:20`) and what reads the last residual (`logits`). `total` stands
for all that read a sender, and is no edge: it is the ordinary patch that edges are compared with.

A layer adds twice, so time is counted in halves of layers: a receiver reads what was added before.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Self

from sonde.errors import BadRequest
from sonde.schema import HOOK_TABLE, RECEIVING, SENDING, ModelDescription

SenderKind = Literal["embed", "z", "mlp_out"]
ReceiverKind = Literal["q", "k", "v", "mlp", "logits", "total"]
Kind = SenderKind | ReceiverKind
Side = Literal["sender", "receiver"]

KINDS: Final[dict[Side, tuple[Kind, ...]]] = {
    "sender": ("embed", "z", "mlp_out"),
    "receiver": ("q", "k", "v", "mlp", "logits", "total"),
}
WITHOUT_LAYER: Final = frozenset({"embed", "logits", "total"})
WITH_HEAD: Final = frozenset(
    hook for hook in (*SENDING, *RECEIVING) if HOOK_TABLE[hook].per != "model"
)
SHARED: Final = frozenset(hook for hook in RECEIVING if HOOK_TABLE[hook].per == "kv_head")
"""Kinds of which several heads may share one."""
EXAMPLES: Final[dict[Side, str]] = {
    "sender": "embed, z:9.6 (layer.head), z:9, z, mlp_out:3, mlp_out, all, or z:9.6+z:9.9 for "
    "several at once",
    "receiver": "q:12.4, k:12.1, v:12.1 (layer.head), q:12, q, mlp:20, mlp, logits, total, all, or "
    "q:12.4+q:12.5 for several at once",
}
_NAME: Final = re.compile(r"([a-z_]+)(?::([0-9]{1,6})(?:\.([0-9]{1,6}))?)?")


class Node(NamedTuple):
    """One sender or receiver."""

    kind: Kind
    layer: int | None = None
    head: int | None = None

    @property
    def name(self) -> str:
        """As it is written: `z:9.6`."""
        head = "" if self.head is None else f".{self.head}"
        return self.kind + ("" if self.layer is None else f":{self.layer}{head}")


Nodes = tuple[Node, ...]
"""One node, or several that are written at once."""


def node_of(name: str) -> Node:
    """The one node that a whole name stands for: `z:9.6`, `mlp_out:3`, `embed`."""
    node = _parsed(name, [*KINDS["sender"], *KINDS["receiver"]])
    if node is None:
        raise BadRequest(f"no node is called {name!r}; write {EXAMPLES['sender']}")
    return node


def name_of(nodes: Nodes) -> str:
    """As it is written: `z:9.6+z:9.9`."""
    return "+".join(node.name for node in nodes)


@dataclass(frozen=True)
class Graph:
    """All nodes of a model, and which sender comes before which receiver."""

    n_layers: int
    heads: int
    kv_heads: int
    parallel: bool = False
    """Attention and MLP of a layer read the same stream: no head reaches its own layer's MLP."""

    @classmethod
    def of(cls, model: ModelDescription) -> Self:
        """A model's; raises where what is added to its stream cannot be told apart."""
        missing = [hook for hook in SENDING if hook not in model.hooks]
        if missing or model.heads is None:
            why = model.why_not("z") or f"this backend offers {', '.join(model.hooks)} here"
            raise BadRequest(
                f"senders and receivers need a model on the torch backend whose heads and MLPs "
                f"can be told apart, and {model.name} has no {missing[0]}: {why}"
            )
        parallel = "post_attn" not in model.hooks  # nothing stands between attention and MLP
        return cls(model.n_layers, model.heads.heads, model.heads.kv_heads, parallel)

    def count(self, kind: Kind) -> int:
        """How many nodes of a kind a layer has."""
        if kind in SHARED:
            return self.kv_heads
        return self.heads if kind in WITH_HEAD else 1

    def of_kind(self, kind: Kind, layers: Sequence[int] | None = None) -> list[Node]:
        """All nodes of one kind; in some layers only."""
        if kind in WITHOUT_LAYER:
            return [Node(kind)]
        heads = range(self.count(kind)) if kind in WITH_HEAD else [None]
        each = range(self.n_layers) if layers is None else layers
        return [Node(kind, layer, head) for layer in each for head in heads]

    def senders(self) -> list[Node]:
        """All of them, in the order in which they add to the stream."""
        return sorted(self._all("sender"), key=lambda node: (sent_at(node), node.head or 0))

    def receivers(self) -> list[Node]:
        """All of them, in the order in which they read it; `total` is none of them."""
        each = [node for node in self._all("receiver") if node.kind != "total"]
        order = KINDS["receiver"]
        return sorted(
            each, key=lambda node: (self.read_at(node), order.index(node.kind), node.head or 0)
        )

    def _all(self, side: Side) -> list[Node]:
        return [node for kind in KINDS[side] for node in self.of_kind(kind)]

    def read_at(self, receiver: Node) -> int:
        """When a receiver reads the stream: it sees what was sent up to then."""
        if receiver.layer is None:
            return 2 * self.n_layers
        return 2 * receiver.layer + (receiver.kind == "mlp" and not self.parallel)

    def reaches(self, sender: Node, receiver: Node) -> bool:
        """Whether there is such an edge: the sender is earlier."""
        return sent_at(sender) <= self.read_at(receiver)

    def edges(self) -> Iterator[tuple[Node, Node]]:
        """All of them, receiver by receiver."""
        senders = self.senders()
        for receiver in self.receivers():
            yield from ((s, receiver) for s in senders if self.reaches(s, receiver))

    def n_edges(self) -> int:
        """How many there are."""
        sent = [sent_at(sender) for sender in self.senders()]
        read = [self.read_at(receiver) for receiver in self.receivers()]
        earlier = [0] * (2 * self.n_layers + 1)
        for time in sent:
            earlier[time] += 1
        for time in range(1, len(earlier)):
            earlier[time] += earlier[time - 1]
        return sum(earlier[time] for time in read)

    def chosen(self, names: Sequence[str], side: Side) -> list[Nodes]:
        """The nodes that some names mean, in their order, each once.

        A name stands for all that it leaves open: `z:9` is every head of layer 9. `all` is every
        sender, or every receiver. What a `+` joins is written at once.
        """
        found: dict[Nodes, None] = {}
        for name in names:
            parts = [self._meant(part.strip(), name, side) for part in name.split("+")]
            if len(parts) == 1:
                found.update(((node,), None) for node in parts[0])
            else:
                found[tuple(dict.fromkeys(node for part in parts for node in part))] = None
        return list(found)

    def _meant(self, text: str, name: str, side: Side) -> list[Node]:
        """What one name stands for."""
        if text == "all":
            return self.senders() if side == "sender" else self.receivers()
        node = _parsed(text, KINDS[side])
        if node is None:
            raise BadRequest(f"{side} {name!r}: {_why(text, side)}; write {EXAMPLES[side]}")
        kind, layer, head = node
        if layer is not None and kind in WITHOUT_LAYER:
            raise BadRequest(f"{side} {name!r}: there is one {kind} and it has no layer; {kind}")
        if head is not None and kind not in WITH_HEAD:
            raise BadRequest(f"{side} {name!r}: {kind} has no heads; write {kind}:{layer}")
        if layer is not None and layer >= self.n_layers:
            raise BadRequest(f"{side} {name!r}: layers are 0 to {self.n_layers - 1}")
        if head is not None and head >= self.count(kind):
            raise BadRequest(f"{side} {name!r}: {self._heads_of(kind)}")
        if head is not None:
            return [node]
        return self.of_kind(kind, None if layer is None else [layer])

    def _heads_of(self, kind: Kind) -> str:
        said = f"{kind} has the heads 0 to {self.count(kind) - 1}"
        if self.count(kind) == self.heads:
            return said
        each = self.heads // self.kv_heads
        return f"{said}, each read by {each} query heads; query head h reads {kind} h // {each}"


def _parsed(text: str, kinds: Sequence[Kind]) -> Node | None:
    """A name as its parts; None where it is no name of these kinds."""
    match = _NAME.fullmatch(text)
    kind = next((k for k in kinds if match and match[1] == k), None)
    if match is None or kind is None:
        return None
    layer, head = (None if part is None else int(part) for part in match.groups()[1:])
    return Node(kind, layer, head)


def sent_at(sender: Node) -> int:
    """When a sender adds to the stream."""
    if sender.layer is None:
        return 0
    return 2 * sender.layer + (1 if sender.kind in WITH_HEAD else 2)


def _why(text: str, side: Side) -> str:
    """What is wrong with a name that is none."""
    other: Side = "receiver" if side == "sender" else "sender"
    kind = text.partition(":")[0]
    if kind in KINDS[other]:
        return f"{kind} is a {other}"
    return f"no {side} is called {text!r}"
