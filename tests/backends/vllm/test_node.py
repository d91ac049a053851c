"""Machines of one engine are told apart by their options; the head is the first of them."""

from sonde.backends.vllm.node import span


def test_the_head_is_node_0_and_the_others_meet_it_at_its_address() -> None:
    head, other = span(nodes=2, head="h", port=1), span(nodes=2, head="h", port=1, node=1)
    assert (head["node_rank"], other["node_rank"]) == (0, 1)
    assert {**head, "node_rank": 1} == other
    assert (head["nnodes"], head["master_addr"], head["master_port"]) == (2, "h", 1)
    assert head["distributed_executor_backend"] == "mp"
