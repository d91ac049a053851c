"""A table of edges as a list."""

from typing import Any

import numpy as np
import pytest

from sonde import Model
from sonde.errors import BadRequest
from sonde.results import Edge, Sweep
from sonde.results.edges import edges_of
from tests.backends.torch.tiny import backend_of
from tests.tiny_model import tiny_llama

MODEL = Model(backend_of(tiny_llama().requires_grad_(False)))
ASKED: dict[str, Any] = {
    "clean": "When Mary and John went to the store",
    "corrupt": "When John and Mary went to the store",
    "answer": " Mary",
    "foil": " John",
}


def test_edges_come_strongest_first_with_what_running_them_showed() -> None:
    found = MODEL.attribute(**ASKED, targets="edges", method="eap-ig", verify=4, sample=2)
    edges = found.edges()

    sizes = [abs(edge.score) for edge in edges]
    assert sizes == sorted(sizes, reverse=True)
    assert found.verification is not None
    assert len(edges) == found.verification.cells
    assert sum(edge.exact is not None for edge in edges) == 6
    assert all(edge.exact is not None for edge in found.edges(4))
    grid = found.scores["post_block"]
    [table] = found.table.tables
    for edge in found.edges(3):
        at = table.axes[0].values.index(edge.sender), table.axes[1].values.index(edge.receiver)
        assert edge.score == grid[at]


def test_edges_that_were_all_run_are_exact() -> None:
    found = MODEL.sweep(
        **ASKED, metric="logit_diff", senders="z:0", receivers=["q:1.0", "total"], frozen="edge"
    )
    assert all(edge.exact == edge.score for edge in found.edges())
    assert found.edges(1)[0].name == f"{found.edges()[0].sender} → {found.edges()[0].receiver}"


def test_what_a_sender_does_is_what_it_does_directly_and_the_rest() -> None:
    found = MODEL.sweep(
        **ASKED, metric="logit_diff", senders=["all"], receivers=["logits", "total"]
    )
    known = {(edge.sender, edge.receiver): edge.score for edge in found.edges()}
    for each in found.senders():
        assert each.direct == known[each.sender, "logits"]
        assert each.total == known[each.sender, "total"]
        assert each.indirect == each.total - each.direct
    totals = [abs(each.total) for each in found.senders()]
    assert totals == sorted(totals, reverse=True)
    assert found.facts[0][0] == "in all"
    with pytest.raises(BadRequest, match="'logits' and 'total'"):
        MODEL.sweep(**ASKED, metric="logit_diff", senders=["embed"], receivers=["logits"]).senders()


def test_what_is_no_table_of_edges_has_no_list_of_them() -> None:
    with pytest.raises(BadRequest, match="not of edges"):
        MODEL.sweep(**ASKED).edges()
    apart = MODEL.sweep(
        **ASKED, metric="logit_diff", senders=["embed"], receivers=["logits"], positions=[1, 7]
    )
    with pytest.raises(BadRequest, match="positions 'together'"):
        edges_of(apart)


def test_a_saved_table_of_edges_reads_back() -> None:
    found = MODEL.sweep(**ASKED, metric="logit_diff", senders=["all"], receivers=["logits", "q:0"])
    again = Sweep.from_json(found.to_json())
    assert again.edges() == found.edges()
    assert isinstance(again.edges()[0], Edge)
    assert np.isnan(found.grids["post_block"]).any()
    assert "sender,receiver" in found.to_csv().replace('"', "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"targets": "paths"}, "attribute 'nodes' or 'edges'"),
        ({"targets": "edges", "hooks": "z"}, "hooks are not of edges"),
        ({"senders": ["embed"]}, "senders are of edges: give targets='edges'"),
        ({"method": "eap"}, "method 'eap' of nodes: take atp or eap-ig"),
        ({"targets": "edges", "method": "ig"}, "method 'ig' of edges: take eap or eap-ig"),
    ],
)
def test_attribution_is_of_nodes_or_of_edges(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        MODEL.attribute(**ASKED, **options)
