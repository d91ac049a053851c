"""Names of senders and receivers, their order, and how many edges there are."""

import pytest

from sonde.errors import BadRequest
from sonde.nodes import Graph, Node, name_of, node_of

GPT2 = Graph(12, 12, 12)
SMOLLM2 = Graph(30, 9, 3)
SMALL = Graph(3, 4, 2)


def names(graph: Graph, side: str, *given: str) -> list[str]:
    assert side in ("sender", "receiver")
    return [name_of(nodes) for nodes in graph.chosen(given, side)]  # type: ignore[arg-type]


@pytest.mark.parametrize(("graph", "edges"), [(GPT2, 32_491), (SMOLLM2, 70_651)])
def test_models_have_as_many_edges_as_the_field_counts(graph: Graph, edges: int) -> None:
    assert graph.n_edges() == edges


@pytest.mark.parametrize("graph", [SMALL, Graph(3, 4, 2, parallel=True), Graph(2, 3, 3)])
def test_edges_are_counted_as_they_are_listed(graph: Graph) -> None:
    listed = list(graph.edges())
    assert len(listed) == len(set(listed)) == graph.n_edges()


def test_a_sender_reaches_what_reads_the_stream_later() -> None:
    head = Node("z", 1, 0)
    assert SMALL.reaches(head, Node("mlp", 1))
    assert SMALL.reaches(head, Node("q", 2, 3))
    assert SMALL.reaches(head, Node("logits"))
    assert not SMALL.reaches(head, Node("q", 1, 1))
    assert not SMALL.reaches(Node("mlp_out", 1), Node("mlp", 1))
    assert SMALL.reaches(Node("mlp_out", 1), Node("k", 2, 0))
    assert SMALL.reaches(Node("embed"), Node("v", 0, 0))


def test_a_parallel_layer_has_no_edge_from_its_heads_to_its_mlp() -> None:
    parallel = Graph(3, 4, 2, parallel=True)
    assert not parallel.reaches(Node("z", 1, 0), Node("mlp", 1))
    assert parallel.reaches(Node("z", 1, 0), Node("mlp", 2))


def test_names_stand_for_all_that_they_leave_open() -> None:
    assert names(SMALL, "sender", "z:1") == ["z:1.0", "z:1.1", "z:1.2", "z:1.3"]
    assert names(SMALL, "sender", "mlp_out") == ["mlp_out:0", "mlp_out:1", "mlp_out:2"]
    assert names(SMALL, "receiver", "k:2", "logits") == ["k:2.0", "k:2.1", "logits"]
    assert names(SMALL, "receiver", "mlp:0", "mlp") == ["mlp:0", "mlp:1", "mlp:2"]
    assert len(names(SMALL, "sender", "z")) == 12


def test_all_is_every_node_in_its_order() -> None:
    assert names(SMALL, "sender", "all")[:7] == [
        "embed", "z:0.0", "z:0.1", "z:0.2", "z:0.3", "mlp_out:0", "z:1.0",
    ]  # fmt: skip
    found = names(SMALL, "receiver", "all")
    assert found[:9] == [
        "q:0.0",
        "q:0.1",
        "q:0.2",
        "q:0.3",
        "k:0.0",
        "k:0.1",
        "v:0.0",
        "v:0.1",
        "mlp:0",
    ]
    assert found[-1] == "logits"
    assert "total" not in found


def test_what_a_plus_joins_is_written_at_once() -> None:
    assert names(SMALL, "sender", "z:0.1+mlp_out:1", "embed") == ["z:0.1+mlp_out:1", "embed"]
    assert names(SMALL, "receiver", "k:0+v:0") == ["k:0.0+k:0.1+v:0.0+v:0.1"]


@pytest.mark.parametrize(
    ("side", "name", "said"),
    [
        ("sender", "q:1.2", "q is a receiver; write embed, z:9.6"),
        ("receiver", "z:1.2", "z is a sender; write q:12.4"),
        ("receiver", "nose", "no receiver is called 'nose'; write"),
        ("sender", "z:7.0", "sender 'z:7.0': layers are 0 to 2"),
        ("sender", "z:1.4", "z has the heads 0 to 3"),
        ("receiver", "k:1.3", "k has the heads 0 to 1, each read by 2 query heads"),
        ("receiver", "mlp:1.0", "mlp has no heads; write mlp:1"),
        ("receiver", "logits:2", "there is one logits and it has no layer"),
        ("sender", "z:1.0+", "no sender is called ''"),
        ("sender", "", "no sender is called ''"),
    ],
)
def test_a_wrong_name_is_refused_with_what_would_work(side: str, name: str, said: str) -> None:
    with pytest.raises(BadRequest) as refused:
        names(SMALL, side, name)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_node_is_read_from_its_name_and_nothing_else_is() -> None:
    for name in ("z:9.6", "mlp_out:3", "embed", "q:12.4", "logits"):
        assert node_of(name).name == name
    assert node_of("z:9.6") == Node("z", 9, 6)
    for name in ("z:9.6+z:9.9", "head:3", "", "z:"):
        with pytest.raises(BadRequest, match="no node is called"):
            node_of(name)
