"""Circuits judged on prompt pairs: shares of the gap, means first."""

from typing import Any

import numpy as np
import pytest

from sonde.engine.attributed_circuits import NODE_AXES
from sonde.engine.circuits import areas, check_circuit, evaluate
from sonde.engine.edges import table_cells
from sonde.engine.tables import sweep_table
from sonde.engine.wired import Edges, check_model, graph_of, sizes_of
from sonde.errors import BadRequest, ControlFailed
from sonde.results import Circuit
from sonde.schema.circuit import (
    CircuitEvaluation,
    CircuitPair,
    CircuitRequest,
    CircuitShape,
    CircuitSummary,
)
from sonde.schema.curve import CircuitCurve
from sonde.schema.pair import PromptPair
from sonde.schema.table import SweepRequest, TableSummary
from tests.backends.torch.mixing.test_mixtures import mixed
from tests.backends.torch.tiny import backend_of, prompt
from tests.tiny_model import tiny_llama

BACKEND = backend_of(tiny_llama(layers=3).requires_grad_(False))
MODEL = BACKEND.describe()
SHAPE = CircuitShape(n_layers=3, heads=4, kv_heads=2)
NAMES = [(s.name, r.name) for s, r in graph_of(SHAPE).edges()]


def pairs(n: int = 4, length: int = 7) -> list[PromptPair]:
    return [
        PromptPair(clean=prompt(length, i), corrupt=prompt(length, 50 + i), answer=5, foil=50)
        for i in range(n)
    ]


def scored(seed: int = 0) -> list[tuple[str, str, float]]:
    draw = np.random.default_rng(seed).normal(size=len(NAMES))
    return [(*name, float(score)) for name, score in zip(NAMES, draw, strict=True)]


def asked(circuit: Circuit, **fields: Any) -> CircuitRequest:
    given: dict[str, Any] = {"drop_wrong": False, "metric": "logprob"}
    return circuit.request(fields.pop("pairs", pairs()), **given | fields)


def whole(request: CircuitRequest) -> CircuitEvaluation:
    *events, summary = evaluate(BACKEND, request)
    assert [type(event) for event in events] == [CircuitPair] * len(request.pairs)
    assert isinstance(summary, CircuitSummary)
    return summary


def test_the_full_circuit_is_the_model_and_what_is_left_of_it_nothing() -> None:
    found = whole(asked(Circuit.of(scored(), MODEL)))
    for curve in found.curves:
        last = curve.points[-1]
        assert (last.size, last.share, last.edges) == (190, 1.0, 190)
        assert last.faithfulness.mean == 1
        assert last.completeness.mean == 0
        assert curve.points[-2].faithfulness.mean not in (0, 1, None)
    assert [curve.rule for curve in found.curves] == ["absolute", "signed", "random"]
    assert found.noise_floor < 1e-5


def test_faithfulness_is_a_ratio_of_means_of_what_each_circuit_tells() -> None:
    circuit = Circuit.of(scored(), MODEL, edges=30)
    found = whole(asked(circuit, sizes=[30], rules=["absolute"], random=False))
    chosen = {(edge.sender, edge.receiver) for edge in circuit.edges}
    run = np.array([name in chosen for name in NAMES])
    rows = np.array([np.zeros_like(run), np.ones_like(run), run, ~run])
    told = np.array(
        [mixed(BACKEND, rows, outside=p.corrupt, inside=p.clean)[:, 0] for p in pairs()]  # type: ignore[arg-type]
    ).mean(0)
    [point] = found.curves[0].points
    gap = told[1] - told[0]
    assert point.faithfulness.mean == pytest.approx((told[2] - told[0]) / gap)
    assert point.completeness.mean == pytest.approx((told[3] - told[0]) / gap)
    assert (found.outside, found.inside) == pytest.approx((told[0], told[1]))


def test_an_exact_edge_is_the_circuit_without_what_else_its_sender_reaches() -> None:
    """Two ways to one number: a row of a sweep, and all edges but the embedding's others."""
    pair = pairs(1)[0]
    receivers = [node.name for node in graph_of(SHAPE).receivers()]
    request = SweepRequest(
        clean=pair.clean, corrupt=pair.corrupt, answer=5, senders=["embed"], receivers=receivers
    )
    *_, swept = sweep_table(BACKEND, request, cells_of=table_cells)
    assert isinstance(swept, TableSummary)
    [table] = swept.tables
    rows = np.array([[s != "embed" or r == name for s, r in NAMES] for name in receivers])
    told = mixed(BACKEND, rows, outside=pair.corrupt, inside=pair.clean)  # type: ignore[arg-type]
    exact = np.array(table.values["logprob"], dtype=np.float64)
    np.testing.assert_allclose(told[:, 0], exact, atol=1e-5)
    assert np.ptp(exact) > 0.1


def test_the_two_rules_take_the_strongest_either_way_or_upwards() -> None:
    edges = Edges(Circuit.of([(*NAMES[0], -3.0), (*NAMES[1], 1.0), (*NAMES[2], 2.0)], SHAPE).whole,
                  graph_of(SHAPE))  # fmt: skip
    assert edges.ordered("absolute") == [0, 2, 1]
    assert edges.ordered("signed") == [2, 1, 0]
    assert sorted(edges.drawn(0)) == list(range(190))
    assert edges.drawn(0) == edges.drawn(0) != edges.drawn(1)


def test_a_circuit_of_nodes_has_all_edges_between_them() -> None:
    circuit = Circuit.of_nodes([("z:0.1", 2.0), ("mlp_out:2", -1.0)], SHAPE)
    edges = Edges(circuit.whole, graph_of(SHAPE))
    run = edges.run(edges.ordered("absolute"))
    held = {name for name, there in zip(NAMES, run, strict=True) if there}
    assert held == {
        ("embed", "q:0.1"), ("embed", "k:0.0"), ("embed", "v:0.0"), ("embed", "mlp:2"),
        ("z:0.1", "mlp:2"), ("embed", "logits"), ("z:0.1", "logits"), ("mlp_out:2", "logits"),
    }  # fmt: skip
    assert not edges.run([]).any()
    nodes = [(node.name, 1.0) for node in graph_of(SHAPE).senders() if node.kind != "embed"]
    every = Edges(Circuit.of_nodes(nodes, SHAPE).whole, graph_of(SHAPE))
    assert every.run(every.ordered("signed")).all()


def test_areas_are_those_of_the_field() -> None:
    assert areas([0.5, 1.0], [1.0, 1.0]) == pytest.approx((0.75, 0.25))
    assert areas([0.5, 1.0], [2.0, 1.0]) == pytest.approx((1.25, 0.75))
    assert areas([0.5], [1.0]) == (None, None)
    assert areas([0.5, 1.0], [None, 1.0]) == (None, None)


def test_sizes_are_spread_as_far_as_the_circuit_goes() -> None:
    assert sizes_of(None, 190, 190) == [1, 2, 4, 10, 19, 38, 95, 190]
    assert sizes_of(None, 30, 190) == [1, 2, 4, 10, 19, 30]
    assert sizes_of([20, 10, 10], 30, 190) == [10, 20]
    with pytest.raises(BadRequest, match="a circuit of size 31: this one has 1 to 30"):
        sizes_of([10, 31], 30, 190)


def test_curves_that_end_early_have_no_areas() -> None:
    found = whole(asked(Circuit.of(scored(), MODEL, edges=10), rules=["signed"], random=False))
    assert [point.size for point in found.curves[0].points] == [1, 2, 4, 10]
    assert (found.curves[0].cpr, found.curves[0].cmd) == (None, None)
    assert (found.size, found.of, found.kind) == (10, 190, "edges")


def test_answers_of_several_tokens_and_other_metrics_are_graded_as_in_sweeps() -> None:
    circuit = Circuit.of(scored(), MODEL)
    long = [
        PromptPair(clean=pair.clean, corrupt=pair.corrupt, answer=" John gave", foil=" Mary")
        for pair in pairs(2)
    ]
    for metric in ("logit_diff", "prob", "kl_clean"):
        found = whole(asked(circuit, metric=metric, pairs=long, sizes=[100, 190], random=False))
        assert found.curves[0].points[-1].faithfulness.mean == pytest.approx(1)
        assert found.metric == metric
    of_itself = whole(asked(circuit, metric="kl_clean", sizes=[100], random=False))
    assert of_itself.inside == pytest.approx(0, abs=1e-5)


def test_pairs_that_cannot_be_run_are_listed_with_their_reason() -> None:
    short = PromptPair(clean=prompt(7, 1), corrupt=prompt(6, 60), answer=5, foil=50)
    found = whole(asked(Circuit.of(scored(), MODEL), pairs=[*pairs(2), short], sizes=[5]))
    assert found.pairs == 2
    [dropped] = found.dropped
    assert (dropped.pair, dropped.reason[:38]) == (2, "its prompts have 7 and 6 tokens, and a")
    with pytest.raises(BadRequest, match="none of 1 pairs can be run: pair 0: its prompts have"):
        whole(asked(Circuit.of(scored(), MODEL), pairs=[short]))


def test_the_model_and_the_names_must_fit() -> None:
    other = CircuitShape(n_layers=2, heads=4, kv_heads=2)
    circuit = Circuit.of([("embed", "logits", 1.0)], other)
    with pytest.raises(BadRequest, match="with 2 layers of 4 heads"):
        check_model(circuit.whole, MODEL)
    for edge in (("z:9.1", "logits"), ("mlp_out:2", "q:0.0")):
        with pytest.raises(BadRequest, match="there is no edge"):
            check_circuit(BACKEND, asked(Circuit.of([(*edge, 1.0)], SHAPE)))
    with pytest.raises(BadRequest, match="twice"):
        check_circuit(BACKEND, asked(Circuit.of([("embed", "logits", 1.0)] * 2, SHAPE)))


def test_a_model_that_is_not_the_sum_of_its_edges_gives_no_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sonde.engine.circuits.TOLERANCE", {"float32": -1.0})
    with pytest.raises(ControlFailed, match="put together edge by edge differs"):
        whole(asked(Circuit.of(scored(), MODEL), sizes=[5]))


def test_other_weights_are_said() -> None:
    circuit = Circuit.of(scored(), MODEL.model_copy(update={"weights": "elsewhere"}))
    found = whole(asked(circuit, sizes=[5]))
    assert any("found in weights elsewhere" in line for line in found.warnings)


def attributed(**fields: Any) -> TableSummary:
    given = {"answer": 5, "foil": 50, "metric": "logit_diff", "method": "attribution"}
    ends = {"senders": ["all"], "receivers": ["all"], "verify": 2, "sample": 0}
    cells = {} if "hooks" in fields else ends
    prompts = {"clean": prompt(7, 0), "corrupt": prompt(7, 50)}
    request = SweepRequest.model_validate({**prompts, **given, **cells, **fields})
    *_, summary = sweep_table(BACKEND, request)
    assert isinstance(summary, TableSummary)
    return summary


def test_an_attribution_runs_the_circuits_of_its_strongest_edges() -> None:
    found = attributed(circuits=[3, 10**6])
    assert found.circuits is not None
    first, random = found.circuits
    assert (first.rule, random.rule) == ("absolute", "random")
    assert [point.size for point in first.points] == [3, len(NAMES)]
    assert first.points[-1].faithfulness.mean == pytest.approx(1, abs=1e-4)
    # The same as of a circuit that is made of the result, and judged by itself.
    values = np.array(found.tables[0].values["logit_diff"], dtype=float)
    zero = found.corrupt["logit_diff"]
    senders, receivers = found.tables[0].axes
    scores = [
        (sender, receiver, float(value) - (zero or 0.0))
        for (sender, receiver), value in zip(
            [(s, r) for s in senders.values for r in receivers.values], values, strict=True
        )
        if not np.isnan(value)
    ]
    one = [PromptPair(clean=prompt(7, 0), corrupt=prompt(7, 50), answer=5, foil=50)]
    alone = whole(
        asked(Circuit.of(scores, MODEL), pairs=one, metric="logit_diff", sizes=[3], random=False)
    )
    assert alone.curves[0].points[0].faithfulness == first.points[0].faithfulness
    assert alone.curves[0].points[0].completeness == first.points[0].completeness


def test_an_attribution_of_heads_and_mlps_runs_circuits_of_nodes() -> None:
    found = attributed(hooks=["z", "mlp_out"], positions="together", circuits=[2])
    assert found.circuits is not None
    assert isinstance(found.circuits[0], CircuitCurve)
    assert [point.size for point in found.circuits[0].points] == [2]
    assert {table.hook for table in found.tables} == set(NODE_AXES)


def test_circuits_that_cannot_be_run_leave_the_scores_and_say_why() -> None:
    found = attributed(hooks=["post_block"], circuits=[2])
    assert found.circuits == []
    assert "neither of edges nor of heads" in found.warnings[-1]
    assert found.verification is not None
    shorter = attributed(
        clean=prompt(6, 0), hooks=["z"], positions="together", pairing="first", circuits=[2]
    )
    assert "they need one length" in shorter.warnings[-1]


@pytest.mark.parametrize(
    ("fields", "why"),
    [({"method": "exact"}, "method attribution"), ({"features": {"layer": 0}}, "one pair")],
)
def test_circuits_go_with_attribution_of_one_pair(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(BadRequest, match=why):
        attributed(circuits=[2], **fields)
