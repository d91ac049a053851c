"""The strongest edges or nodes of an attribution, run as circuits: how much of the model are they?

A sweep of one pair says what each cell does alone. What they do together is another question, asked
by the same request and answered in the same table.
"""

from collections.abc import Iterator
from itertools import product

from sonde.backends.base import Backend
from sonde.engine.circuits import evaluate
from sonde.engine.plan import Limits
from sonde.errors import BadRequest, ControlFailed
from sonde.nodes import Graph
from sonde.schema import ModelDescription
from sonde.schema.circuit import (
    Circuit,
    CircuitCurve,
    CircuitEdge,
    CircuitNode,
    CircuitRequest,
    CircuitShape,
    CircuitSummary,
)
from sonde.schema.pair import PromptPair
from sonde.schema.table import SweepRequest, TableEvent, TableSummary

NODE_AXES = {"z": ["layer", "head"], "mlp_out": ["layer"]}


def check_circuits(request: SweepRequest) -> None:
    """What `circuits` does not go with."""
    if request.circuits is None:
        return
    if request.method != "attribution":
        raise BadRequest("`circuits` are made of first-order scores: they need method attribution")
    if request.pairs is not None or request.features is not None or request.checkpoints is not None:
        raise BadRequest(
            "`circuits` are of one pair, of edges or of heads and MLPs: over many pairs judge a "
            "circuit with `sonde circuit`"
        )


def with_circuits(
    backend: Backend, request: SweepRequest, events: Iterator[TableEvent], limits: Limits
) -> Iterator[TableEvent]:
    """The same events, the last of them with what circuits of its strongest cells come to."""
    for event in events:
        if not isinstance(event, TableSummary):
            yield event
            continue
        try:
            curves, why = _curves(backend, request, event, limits), None
        except (BadRequest, ControlFailed) as error:  # the scores stand, whatever becomes of these
            curves, why = [], f"no circuit was run: {error}"
        told = event.warnings if why is None else [*event.warnings, why]
        yield event.model_copy(update={"circuits": curves, "warnings": told})


def _curves(
    backend: Backend, request: SweepRequest, found: TableSummary, limits: Limits
) -> list[CircuitCurve]:
    assert request.clean is not None
    assert request.corrupt is not None
    assert request.answer is not None
    circuit = _circuit(found, backend.describe())
    held = len(circuit.edges or circuit.nodes or [])
    pair = PromptPair(
        clean=request.clean, corrupt=request.corrupt, answer=request.answer, foil=request.foil
    )
    asked = CircuitRequest(
        circuit=circuit,
        pairs=[pair],
        sizes=sorted({min(size, held) for size in request.circuits or []}),
        rules=["absolute"],
        drop_wrong=False,
        seed=request.seed,
    )
    *_, summary = evaluate(backend, asked, limits=limits)
    assert isinstance(summary, CircuitSummary)
    return summary.curves


def _circuit(found: TableSummary, model: ModelDescription) -> Circuit:
    """All that was scored, by how far from the baseline it is."""
    graph = Graph.of(model)
    shape = CircuitShape(
        n_layers=graph.n_layers, heads=graph.heads, kv_heads=graph.kv_heads, parallel=graph.parallel
    )
    edges, nodes = _edges(found), _nodes(found)
    if not edges and not nodes:
        raise BadRequest("this table is neither of edges nor of heads (z) and MLPs (mlp_out)")
    return Circuit(
        model=model.name,
        weights=model.weights,
        shape=shape,
        scored=len(edges or nodes),
        edges=edges or None,
        nodes=None if edges else nodes,
    )


def _edges(found: TableSummary) -> list[CircuitEdge]:
    """Single edges that have a number; `total` is all of a sender's, and is none itself."""
    table = found.tables[0]
    if [axis.name for axis in table.axes] != ["sender", "receiver"]:
        return []
    senders, receivers = (map(str, axis.values) for axis in table.axes)
    places = zip(product(senders, receivers), _changes(found, 0), strict=True)
    return [
        CircuitEdge(sender=sender, receiver=receiver, score=score)
        for (sender, receiver), score in places
        if score is not None and receiver != "total" and "+" not in sender + receiver
    ]


def _nodes(found: TableSummary) -> list[CircuitNode]:
    out: list[CircuitNode] = []
    for n, table in enumerate(found.tables):
        if NODE_AXES.get(table.hook) != [axis.name for axis in table.axes]:
            return []
        places = product(*([str(value) for value in axis.values] for axis in table.axes))
        for place, score in zip(places, _changes(found, n), strict=True):
            if score is not None:
                out.append(CircuitNode(node=f"{table.hook}:{'.'.join(place)}", score=score))
    return out


def _changes(found: TableSummary, n: int) -> list[float | None]:
    zero = 0.0 if found.metric == "recovered" else found.corrupt[found.metric]
    values = found.tables[n].values[found.metric]
    return [None if value is None or zero is None else value - zero for value in values]
