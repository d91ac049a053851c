"""Edges by number: the order of the graph, as a matrix."""

import numpy as np
import pytest

from sonde.backends.torch.mixing.wiring import Wiring
from sonde.nodes import Graph

GRAPHS = [Graph(3, 4, 2), Graph(2, 3, 3, parallel=True), Graph(1, 1, 1)]


@pytest.mark.parametrize("graph", GRAPHS)
def test_the_matrix_has_an_edge_where_the_graph_has_one(graph: Graph) -> None:
    wiring = Wiring(graph)
    senders = [node.name for node in graph.senders()]
    receivers = [node.name for node in graph.receivers()]
    assert (len(receivers), len(senders)) == (wiring.n_receivers, wiring.n_senders)
    for number, (sender, receiver) in enumerate(graph.edges()):
        run = np.zeros(graph.n_edges(), dtype=bool)
        run[number] = True
        [[row, column]] = np.argwhere(wiring.matrix(run)).tolist()
        assert (receivers[row], senders[column]) == (receiver.name, sender.name)
    for layer in range(graph.n_layers):
        assert senders[wiring.heads(layer)] == [f"z:{layer}.{h}" for h in range(graph.heads)]
        assert senders[wiring.mlp_out(layer)] == f"mlp_out:{layer}"
        assert receivers[wiring.mlp(layer)] == f"mlp:{layer}"
        kinds = [name[0] for name in receivers[wiring.attention(layer)]]
        assert (
            kinds
            == ["q"] * graph.heads
            + ["k", "v"] * 0
            + ["k"] * graph.kv_heads
            + ["v"] * graph.kv_heads
        )


def test_what_nobody_reads_is_left_out() -> None:
    graph = Graph(2, 2, 1)
    wiring = Wiring(graph)
    names = [(sender.name, receiver.name) for sender, receiver in graph.edges()]
    kept = [("embed", "k:0.0"), ("embed", "q:0.1"), ("z:0.1", "mlp:1"), ("mlp_out:1", "logits")]
    dead = [("embed", "q:0.0"), ("embed", "mlp:0"), ("embed", "v:1.0")]
    matrix = wiring.matrix(np.array([name in kept + dead for name in names]))
    expected = wiring.matrix(np.array([name in kept for name in names]))
    assert np.array_equal(wiring.on_the_way(matrix), expected)
