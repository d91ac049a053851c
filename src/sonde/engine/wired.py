"""A circuit as the edges that are run: which of a model's edges a ranking puts first.

Edges are numbered as `sonde.nodes.Graph.edges` has them. Of nodes, all edges between them are run,
those from the embedding and those to the logits too. Heads that share a key or value share its
edges: what one of them brings in, the others may read, and send nowhere unless they are nodes.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sonde.errors import BadRequest
from sonde.nodes import SHARED, Graph, Node
from sonde.schema import ModelDescription
from sonde.schema.circuit import Circuit, CircuitRule, CircuitShape

Bools = NDArray[np.bool_]
_Name = TypeVar("_Name", str, tuple[str, str])
SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Sizes of the circuits that are run if none are named, evenly spaced on a logarithmic axis."""


def graph_of(shape: CircuitShape) -> Graph:
    """The edges of a model of that shape."""
    return Graph(shape.n_layers, shape.heads, shape.kv_heads, shape.parallel)


def check_model(circuit: Circuit, model: ModelDescription) -> Graph:
    """The edges of the model that is loaded, which are those that the circuit is drawn from."""
    graph = Graph.of(model)
    if graph != graph_of(circuit.shape):
        theirs = circuit.shape
        raise BadRequest(
            f"the circuit is one of {circuit.model}, with {theirs.n_layers} layers of "
            f"{theirs.heads} heads ({theirs.kv_heads} for keys and values), and {model.name} has "
            f"{graph.n_layers} of {graph.heads} ({graph.kv_heads}): load the model it was found in"
        )
    return graph


class Edges:
    """What a circuit's edges, or nodes, stand for in the order of its graph."""

    def __init__(self, circuit: Circuit, graph: Graph) -> None:
        self._graph = graph
        names = [(sender.name, receiver.name) for sender, receiver in graph.edges()]
        self.n_edges = len(names)
        if circuit.edges is not None:
            number = {name: place for place, name in enumerate(names)}
            self.scores = np.array([edge.score for edge in circuit.edges])
            self._numbers = [
                _found(number, (edge.sender, edge.receiver), "edge", graph)
                for edge in circuit.edges
            ]
            self._all: Sequence[int] | Sequence[str] = range(self.n_edges)
        else:
            if circuit.positions is not None:
                raise BadRequest(
                    "nodes at single positions are drawn and not run, because edges are of all "
                    "positions at once: attribute with positions 'together' to run the circuit"
                )
            nodes = [node.name for node in graph.senders() if node.kind != "embed"]
            place = {name: number for number, name in enumerate(nodes)}
            given = [n for n in circuit.nodes or [] if n.node != "embed"]
            self.scores = np.array([node.score for node in given])
            self._numbers = [_found(place, node.node, "node", graph) for node in given]
            self._all = nodes
        if len(set(self._numbers)) < len(self._numbers):
            raise BadRequest("the circuit names an edge or a node twice; keep one of them")
        self.of_edges = circuit.edges is not None

    @property
    def held(self) -> int:
        """How many the circuit has."""
        return len(self._numbers)

    @property
    def of(self) -> int:
        """How many the model has."""
        return len(self._all)

    def ordered(self, rule: CircuitRule) -> list[int]:
        """Numbers of edges or nodes, the first in the smallest circuits; equals in their order."""
        by = np.abs(self.scores) if rule == "absolute" else self.scores
        return [self._numbers[place] for place in np.argsort(-by, kind="stable")]

    def drawn(self, seed: int) -> list[int]:
        """All of the model's in a random order."""
        return [int(n) for n in np.random.default_rng(seed).permutation(self.of)]

    def run(self, chosen: Sequence[int]) -> Bools:
        """The edges that are run of a circuit of these."""
        out = np.zeros(self.n_edges, dtype=bool)
        if self.of_edges:
            out[list(chosen)] = True
        elif chosen:
            out[:] = _between({str(self._all[number]) for number in chosen}, self._graph)
        return out


def sizes_of(asked: Sequence[int] | None, held: int, of: int) -> list[int]:
    """The sizes that are run, from the smallest."""
    if asked is None:
        some = [max(1, round(share * of)) for share in SHARES]
        return sorted({size for size in some if size <= held} | {held})
    if max(asked) > held or min(asked) < 1:
        wrong = max(asked) if max(asked) > held else min(asked)
        raise BadRequest(f"a circuit of size {wrong}: this one has 1 to {held}")
    return sorted(set(asked))


def _between(nodes: Collection[str], graph: Graph) -> list[bool]:
    group = graph.heads // graph.kv_heads

    def reads(receiver: Node) -> bool:
        layer, head = receiver.layer, receiver.head
        if receiver.kind == "logits":
            return True
        if receiver.kind == "mlp":
            return f"mlp_out:{layer}" in nodes
        assert head is not None
        mine = range(head * group, (head + 1) * group) if receiver.kind in SHARED else [head]
        return any(f"z:{layer}.{each}" in nodes for each in mine)

    known = {receiver: reads(receiver) for receiver in graph.receivers()}
    sends = {sender: sender.kind == "embed" or sender.name in nodes for sender in graph.senders()}
    return [sends[sender] and known[receiver] for sender, receiver in graph.edges()]


def _found(number: Mapping[_Name, int], name: _Name, what: str, graph: Graph) -> int:
    place = number.get(name)
    if place is None:
        said = name if isinstance(name, str) else " → ".join(name)
        raise BadRequest(
            f"there is no {what} {said} in a model of {graph.n_layers} layers of {graph.heads} "
            f"heads ({graph.kv_heads} for keys and values)"
        )
    return place
