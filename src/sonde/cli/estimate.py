"""What a sweep would take, said before it runs: here, and on other hardware where that is asked."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sonde.errors import BadRequest
from sonde.request import Request
from sonde.results import numbers
from sonde.scale import SHAPES, Cost, Fleet, Rows, Shape, cost, fleet, rows_of
from sonde.schema import Estimate, ModelDescription
from sonde.schema.table import SweepRequest


def elsewhere(asked: Mapping[str, Any]) -> Fleet | None:
    """What other hardware is asked about; None where none is."""
    if asked["on"] is None:
        return None
    if not asked["estimate"]:
        raise BadRequest("--on is about what a sweep would cost: give --estimate too")
    if asked["layers"] != "all":
        raise BadRequest("--on is about sweeps of all layers: leave --layers out")
    return fleet(asked["on"])


def costs(
    on: Fleet, here: Estimate, model: ModelDescription, request: Request
) -> list[tuple[Shape, Rows, Cost]]:
    """What the sweep would cost there, for each shape of model."""
    each = not isinstance(request, SweepRequest) or request.heads != "together"
    hooks = request.hooks
    if hooks is None:
        raise BadRequest("--on is about sweeps of hooks: leave --features, --senders and such out")
    found = [(shape, rows_of(shape, here, model, hooks, each_head=each)) for shape in SHAPES]
    return [(shape, rows, cost(shape, rows, on)) for shape, rows in found]


def costs_text(on: Fleet, costs: Sequence[tuple[Shape, Rows, Cost]]) -> str:
    """The same for people."""
    lines = ["", f"on {on}, bfloat16, loading left out; arithmetic, see docs/scale.md"]
    for shape, rows, there in costs:
        took = "" if there.seconds is None else f"about {numbers.duration(there.seconds)}"
        cells = numbers.count(round(rows.count), "cell")
        lines.append(f"{shape.name:<14}{cells:>18}  {there.way:<28}{took}".rstrip())
    return "\n".join(lines)


def estimate_json(here: Estimate, costs: Sequence[tuple[Shape, Rows, Cost]]) -> str:
    """The estimate for programs; with what other hardware would take, where it was asked for."""
    if not costs:
        return here.model_dump_json(indent=1)
    there = {
        shape.name: {"cells": round(rows.count), **asdict(each)} for shape, rows, each in costs
    }
    return json.dumps({**here.model_dump(mode="json"), "elsewhere": there}, indent=1)


def estimate_text(cost: Estimate) -> str:
    """What a sweep would cost, for people."""
    known = cost.cells - cost.computed_cells
    cells = numbers.count(cost.cells, "cell")
    memory = f"{numbers.size(cost.working_bytes)} beside the weights"
    if cost.source_bytes:
        memory += f", and {numbers.size(cost.source_bytes)} for the clean prompt's activations"
    return "\n".join(
        [
            f"cells   {cells}" + (f"; {known:,} cannot differ from the baseline" if known else ""),
            f"time    about {numbers.duration(cost.seconds)}",
            f"memory  {memory}",
        ]
    )
