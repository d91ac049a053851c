"""The strongest edges or nodes of a sweep, or of an attribution, as a circuit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.errors import BadRequest
from sonde.results.circuit import Circuit, Evaluates, Scored
from sonde.results.edges import Edge, is_of_edges
from sonde.results.tokens import visible
from sonde.schema.circuit import CircuitRule

if TYPE_CHECKING:
    from sonde.results.sweep import Sweep

NODES = {"z": ["layer", "head"], "mlp_out": ["layer"]}
"""Hooks that nodes are the values of, and the axes that one number a node has."""
PLACES = ("position", "role")


def circuit_of(
    sweep: Sweep,
    edges: int | None,
    nodes: int | None,
    rule: CircuitRule,
    model: Evaluates | None,
) -> Circuit:
    """The circuit of a sweep's strongest edges or nodes: as many, or all that have a number."""
    of_edges = any(is_of_edges(table) for table in sweep.table.tables)
    if (of_edges and nodes is not None) or (edges is not None and not of_edges):
        has, lacks = ("edges", "nodes") if of_edges else ("nodes", "edges")
        raise BadRequest(f"this table is of {has}, and has no {lacks}: circuit({has}=…)")
    model = model or sweep.runs_in
    if model is None:
        raise BadRequest(
            "a result from a file does not say what edges its model has: circuit(…, model=model)"
        )
    made: dict[str, Any] = {
        "rule": rule, "made": _made(sweep, of_edges), "provenance": sweep.provenance,
        "runs_in": model,
    }  # fmt: skip
    if of_edges:
        some = [edge for edge in sweep.edges() if _is_edge(edge)]
        return Circuit.of(some, model.describe(), edges=edges, **made)
    positions, found = _nodes(sweep)
    return Circuit.of_nodes(found, model.describe(), nodes=nodes, positions=positions, **made)


def _is_edge(edge: Edge) -> bool:
    """Single ends; `total` is all of a sender's edges, and what `+` joins is several at once."""
    if "+" in edge.name:
        raise BadRequest(f"{edge.name} is several edges at once: sweep them one by one")
    return edge.receiver != "total"


def _nodes(sweep: Sweep) -> tuple[list[str] | None, list[Scored]]:
    """All that have a number; and the positions, where each is a node at one of them."""
    tables = {hook: list(axes) for hook, axes in sweep.axes.items()}
    own = {hook: [axis for axis in axes if axis not in PLACES] for hook, axes in tables.items()}
    if not tables or any(NODES.get(hook) != axes for hook, axes in own.items()):
        told = "; ".join(f"{hook}: {' × '.join(axes)}" for hook, axes in tables.items())
        raise BadRequest(
            "nodes are heads (z) and MLPs (mlp_out), and this is a table of "
            f"{told or 'nothing'}: attribute or sweep hooks 'z,mlp_out'"
        )
    exact = _exact(sweep)
    places = _places(sweep)
    out: list[Scored] = []
    for number, (hook, values) in enumerate(sweep.scores.items()):
        axes = sweep.axes[hook]
        for at, value in np.ndenumerate(values):
            if np.isnan(value):
                continue
            layer = axes["layer"][at[0]]
            name = f"{hook}:{layer}" + (f".{axes['head'][at[1]]}" if "head" in axes else "")
            score = float(value)
            known = score if exact is None else exact.get((number, *at))
            out.append((name, score, known, None if places is None else places[at[-1]]))
    return places, out


def _places(sweep: Sweep) -> list[str] | None:
    """Positions as they are shown, `3 John`, or roles."""
    for table in sweep.table.tables:
        axis = table.axes[-1]
        if axis.name == "role":
            return [str(value) for value in axis.values]
        if axis.name == "position":
            each = zip(axis.values, axis.labels, strict=True)
            return [f"{value} {visible(label).strip()}" for value, label in each]
    return None


def _exact(sweep: Sweep) -> dict[tuple[int, ...], float] | None:
    """What was run of each cell that was, by table and place; None where all were."""
    if sweep.verification is None:
        return None
    return {(cell.table, *cell.at): cell.exact for cell in sweep.verification.compared}


def _made(sweep: Sweep, of_edges: bool) -> str:
    """How scores came about, by its name; of edges `atp` is called `eap`."""
    if sweep.verification is None:
        frozen = sweep.provenance.request.get("frozen")
        return f"exact, {frozen}" if frozen else "exact"
    gradient = sweep.verification.gradient
    return "eap" if of_edges and gradient == "atp" else gradient
