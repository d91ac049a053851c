"""Circuits as values and files."""

import json
from pathlib import Path
from typing import Any

import pytest

from sonde.errors import BadRequest
from sonde.model import Model
from sonde.results import Circuit, Sweep
from sonde.results.circuit import check_suffix, digest, finished
from sonde.results.circuit_of import circuit_of
from sonde.schema.circuit import CircuitShape
from sonde.schema.pair import PromptPair
from tests.backends.torch.tiny import backend_of
from tests.tiny_model import tiny_llama

SHAPE = CircuitShape(n_layers=3, heads=4, kv_heads=2)
EDGES = [("embed", "q:0.1", 0.5), ("z:0.1", "mlp:2", -2.0, -1.9), ("mlp_out:2", "logits", 1.0)]
MARY, JOHN = "When Mary and John went to the store", "When John and Mary went to the store"


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(backend_of(tiny_llama(layers=3).requires_grad_(False)))


def of_nodes(model: Model, **fields: Any) -> Sweep:
    asked: dict[str, Any] = {"clean": MARY, "corrupt": JOHN, "answer": " Mary", "foil": " Rome"}
    return model.attribute(**asked | {"verify": 3, "sample": 3} | fields)


def test_the_strongest_come_first_by_either_rule() -> None:
    made = Circuit.of(EDGES, SHAPE)
    assert [edge.sender for edge in made.edges] == ["z:0.1", "mlp_out:2", "embed"]
    assert made.edges[0].exact == -1.9
    signed = Circuit.of(EDGES, SHAPE, rule="signed", edges=2)
    assert [edge.sender for edge in signed.edges] == ["mlp_out:2", "embed"]
    assert (len(signed), signed.whole.scored) == (2, 3)
    assert [edge.sender for edge in made.top(1).edges] == ["z:0.1"]
    for wrong in (0, 4):
        with pytest.raises(BadRequest, match=f"a circuit of {wrong} edges"):
            made.top(wrong)
        with pytest.raises(BadRequest, match=f"a circuit of {wrong} edges"):
            Circuit.of(EDGES, SHAPE, edges=wrong)


def test_a_circuit_comes_back_from_its_json(tmp_path: Path) -> None:
    made = Circuit.of(EDGES, SHAPE)
    assert Circuit.from_json(made.to_json()) == made
    assert Circuit.read(made.save(tmp_path / "c.json")) == made
    assert made.digest == digest(made.whole)
    assert made.digest != made.top(2).digest


def test_one_that_was_changed_since_is_refused(tmp_path: Path) -> None:
    fields = json.loads(Circuit.of(EDGES, SHAPE).to_json())
    fields["edges"][0]["score"] = 7.0
    with pytest.raises(BadRequest, match="was changed after it was saved"):
        Circuit.from_json(json.dumps(fields))
    del fields["digest"]
    assert Circuit.from_json(json.dumps(fields)).edges[0].score == 7
    for wrong in ("{}", "[]", json.dumps(fields | {"nodes": [{"node": "z:0.0", "score": 1}]})):
        with pytest.raises(BadRequest, match="is no circuit"):
            Circuit.from_json(wrong)
    with pytest.raises(BadRequest, match="cannot read"):
        Circuit.read(tmp_path / "nothing.json")


def test_suffixes_say_what_is_written(tmp_path: Path) -> None:
    assert Circuit.of(EDGES, SHAPE).save(tmp_path / "c.svg").read_text().startswith("<svg")
    with pytest.raises(BadRequest, match="suffix '.png' is none of .json, .svg"):
        check_suffix("c.png")


def test_the_nodes_of_an_attribution_are_a_circuit_with_what_is_exact(model: Model) -> None:
    result = of_nodes(model)
    made = result.circuit(nodes=5)
    assert made.kind == "nodes"
    assert made.whole.scored == 15
    assert made.whole.metric == "logit_diff"
    assert made.whole.scores == "atp"
    assert sum(node.exact is not None for node in made.nodes) >= 3
    scores = {node.node: node.score for node in made.nodes}
    for name, score in scores.items():
        kind, _, rest = name.partition(":")
        at = tuple(map(int, rest.split(".")))
        hook: Any = kind
        assert result.scores[hook][at] == score
    assert Circuit.from_json(made.to_json()) == made


def test_a_circuit_of_nodes_is_judged_on_the_model_it_was_found_in(model: Model) -> None:
    made = of_nodes(model).circuit()
    pairs = [PromptPair(clean=MARY, corrupt=JOHN, answer=" Mary", foil=" Rome")]
    seen: list[Any] = []
    found = made.evaluate(pairs, drop_wrong=False, on_event=seen.append)
    assert found.curves[0].points[-1].faithfulness.mean == 1
    assert found.of == 15
    assert [event.type for event in seen] == ["pair", "summary"]
    assert found.provenance is not None
    assert found.provenance.request["circuit"] == {"digest": made.digest}
    again = Circuit.from_json(made.to_json())
    with pytest.raises(BadRequest, match="has no model"):
        again.evaluate(pairs)
    other = again.evaluate(pairs, model=model, drop_wrong=False)
    assert other.curves == found.curves
    with pytest.raises(AssertionError):
        finished([], None)


def test_the_edges_of_an_attribution_are_a_circuit_with_what_is_exact(model: Model) -> None:
    result = of_nodes(model, targets="edges", verify=20, sample=20)
    made = result.circuit(edges=30)
    assert (made.kind, len(made), made.whole.scored) == ("edges", 30, 190)
    assert made.whole.scores == "eap"
    ranked = result.edges(30)
    assert [(e.sender, e.receiver, e.score, e.exact) for e in made.edges] == [
        tuple(edge) for edge in ranked
    ]
    assert all(edge.exact is not None for edge in made.edges[:20])
    assert any(edge.exact is None for edge in made.edges)
    with pytest.raises(BadRequest, match=r"of edges, and has no nodes: circuit\(edges=…\)"):
        result.circuit(nodes=3)
    with pytest.raises(BadRequest, match=r"of nodes, and has no edges: circuit\(nodes=…\)"):
        of_nodes(model).circuit(edges=3)


def test_nodes_at_single_positions_are_drawn_and_not_run(model: Model) -> None:
    result = of_nodes(model, positions="each")
    made = result.circuit(nodes=6)
    assert made.whole.positions is not None
    assert made.whole.positions[1] == "1 John"
    best = made.nodes[0]
    where = made.whole.positions.index(best.at or "")
    kind, _, rest = best.node.partition(":")
    hook: Any = kind
    assert result.scores[hook][(*map(int, rest.split(".")), where)] == best.score
    assert "by position" in made.to_svg()
    pairs = [PromptPair(clean=MARY, corrupt=JOHN, answer=" Mary", foil=" Rome")]
    with pytest.raises(BadRequest, match="are drawn and not run"):
        made.evaluate(pairs)


def test_tables_that_are_not_of_nodes_are_refused(model: Model) -> None:
    swept = model.sweep(clean=MARY, corrupt=JOHN, answer=" Mary")
    with pytest.raises(BadRequest, match="post_block: layer × position"):
        swept.circuit()
    stored = Sweep.from_json(of_nodes(model).to_json())
    with pytest.raises(BadRequest, match=r"circuit\(…, model=model\)"):
        circuit_of(stored, None, 5, "absolute", None)
    assert len(stored.circuit(nodes=5, model=model)) == 5
