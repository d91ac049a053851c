"""Which sender each receiver reads in a circuit, as a matrix: pure arithmetic on a graph's order.

Senders are ordered as they add to the stream, receivers as they read it, so what a receiver may
read is always a first part of all senders. In every layer the order is the same: heads, then the
MLP; queries, keys, values, then the MLP.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sonde.nodes import Graph

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Wiring:
    """A graph's senders and receivers by number."""

    graph: Graph

    @property
    def n_senders(self) -> int:
        """The embedding, and a layer's heads and MLP."""
        return 1 + self.graph.n_layers * (self.graph.heads + 1)

    @property
    def n_receivers(self) -> int:
        """A layer's queries, keys, values and MLP, and the logits."""
        return self.graph.n_layers * self._read_a_layer + 1

    @property
    def _read_a_layer(self) -> int:
        return self.graph.heads + 2 * self.graph.kv_heads + 1

    def heads(self, layer: int) -> slice:
        """A layer's heads, among senders."""
        first = 1 + layer * (self.graph.heads + 1)
        return slice(first, first + self.graph.heads)

    def mlp_out(self, layer: int) -> int:
        """A layer's MLP, among senders."""
        return 1 + layer * (self.graph.heads + 1) + self.graph.heads

    def attention(self, layer: int) -> slice:
        """A layer's queries, then keys, then values, among receivers."""
        first = layer * self._read_a_layer
        return slice(first, first + self._read_a_layer - 1)

    def mlp(self, layer: int) -> int:
        """A layer's MLP, among receivers."""
        return (layer + 1) * self._read_a_layer - 1

    @cached_property
    def reach(self) -> NDArray[np.int64]:
        """How many senders each receiver may read, from the first."""
        a_layer = self.graph.heads + 1
        reach = np.full(self.n_receivers, self.n_senders)
        for layer in range(self.graph.n_layers):
            earlier = 1 + layer * a_layer
            reach[self.attention(layer)] = earlier
            reach[self.mlp(layer)] = earlier + (0 if self.graph.parallel else self.graph.heads)
        return reach

    @cached_property
    def allowed(self) -> Bools:
        """All edges there are: [receivers, senders]."""
        allowed: Bools = np.arange(self.n_senders)[None] < self.reach[:, None]
        return allowed

    def matrix(self, edges: Bools) -> Bools:
        """Edges in the order of `Graph.edges` -> [receivers, senders]."""
        out = np.zeros((self.n_receivers, self.n_senders), dtype=bool)
        out[self.allowed] = edges
        return out

    def on_the_way(self, matrix: Bools) -> Bools:
        """The same without the edges into what nobody reads: they change nothing.

        [receivers, senders].
        """
        out, graph = matrix.copy(), self.graph
        group = graph.heads // graph.kv_heads
        for layer in reversed(range(graph.n_layers)):
            if not out[:, self.mlp_out(layer)].any():
                out[self.mlp(layer)] = False
            heads = out[:, self.heads(layer)].any(0)
            groups = heads.reshape(graph.kv_heads, group).any(1)
            out[self.attention(layer)][~np.concatenate([heads, groups, groups])] = False
        return out
