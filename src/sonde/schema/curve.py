"""How much of the model circuits of several sizes are, ranked by one rule.

A module of its own because a sweep's table has these curves too, and a circuit is made of a table.
"""

from typing import Annotated, Literal

from pydantic import Field

from sonde.schema.base import Whole, Wire

CircuitRule = Literal["absolute", "signed"]
"""What puts edges first: `absolute` the size of their scores · `signed` the scores themselves, so
that those which lower the metric come last."""


CircuitSizes = Annotated[list[Annotated[Whole, Field(ge=1)]], Field(min_length=1, max_length=100)]
"""How many of the strongest edges, or nodes, circuits have."""


class Share(Wire):
    """A ratio of means over pairs, and its interval; null where there is none, and why."""

    mean: float | None
    low: float | None
    high: float | None
    reason: str | None = Field(default=None, exclude_if=lambda value: value is None)


class CurvePoint(Wire):
    """A circuit of one size."""

    size: Whole
    """Edges, or nodes."""
    share: float
    """Of all edges of the model, or of all nodes."""
    edges: Whole
    """Edges that are run; of nodes, all between them."""
    faithfulness: Share
    """(m(circuit) - m(outside)) / (m(inside) - m(outside)): 0 is the empty one, 1 the model."""
    completeness: Share
    """The same of all that is not in the circuit: what the model does without it."""


class CircuitCurve(Wire):
    """Circuits of several sizes, by one rule."""

    rule: CircuitRule | Literal["random"]
    points: list[CurvePoint]
    cpr: float | None
    """∫ faithfulness over the share of edges, from 0 to 1: high where few edges do most. Null where
    the curve does not reach all edges."""
    cmd: float | None
    """∫ |1 - faithfulness| over the same: low where it stays near the model."""
