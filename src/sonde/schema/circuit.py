"""A circuit: edges or nodes of a model with their scores; and how much of the model it is.

An edge goes from a sender to a receiver (`sonde.nodes`). A circuit of nodes has all edges between
them. It is run by giving every receiver the inside prompt's part along the circuit's edges, and the
outside prompt's along all others.
"""

from typing import Annotated, Literal

from pydantic import Field, FiniteFloat

from sonde.schema.base import Whole, Wire
from sonde.schema.curve import CircuitCurve as CircuitCurve
from sonde.schema.curve import CircuitRule as CircuitRule
from sonde.schema.curve import CurvePoint as CurvePoint
from sonde.schema.curve import Share as Share
from sonde.schema.pair import PromptPair
from sonde.schema.provenance import Provenance
from sonde.schema.sweep import Failed
from sonde.schema.table import DroppedPair, TableMetric

CircuitMetric = Literal["logit_diff", "logprob", "prob", "kl_clean"]
"""What faithfulness is a share of the gap of; shares themselves and ranks are none."""

NodeName = Annotated[str, Field(min_length=1, max_length=40)]


class CircuitEdge(Wire):
    """One edge, how strong it is to first order, and how strong by running it."""

    sender: NodeName
    receiver: NodeName
    score: FiniteFloat
    exact: FiniteFloat | None = None
    """Null where it was not run."""


class CircuitNode(Wire):
    """One head or MLP (`z:9.6`, `mlp_out:3`), or the embedding."""

    node: NodeName
    score: FiniteFloat
    exact: FiniteFloat | None = None
    at: Annotated[str, Field(max_length=1_000)] | None = None
    """A position or a role, where it was scored there alone: one of the circuit's `positions`."""


class CircuitShape(Wire):
    """What edges a model has."""

    n_layers: Whole = Field(ge=1, le=10_000)
    heads: Whole = Field(ge=1, le=10_000)
    kv_heads: Whole = Field(ge=1, le=10_000)
    parallel: bool = False
    """Attention and MLP of a layer read the same stream."""


class Circuit(Wire):
    """A set of edges, or of nodes, strongest first."""

    format: Literal["sonde.circuit.1"] = "sonde.circuit.1"
    model: str
    weights: str
    """Fingerprint of the weights that it was found in; empty where nobody said."""
    shape: CircuitShape
    rule: CircuitRule = "absolute"
    scores: Annotated[str, Field(max_length=200)] = "given"
    """How scores were made: `eap`, `eap-ig`, `exact`, …"""
    metric: TableMetric | None = None
    scored: Whole = Field(ge=0)
    """How many were scored, of which these are the strongest."""
    edges: Annotated[list[CircuitEdge], Field(min_length=1, max_length=20_000_000)] | None = None
    nodes: Annotated[list[CircuitNode], Field(min_length=1, max_length=1_000_000)] | None = None
    """Instead of edges."""
    positions: Annotated[list[str], Field(max_length=100_000)] | None = None
    """Of nodes at single positions, all positions in their order. Such a circuit is drawn, not run:
    edges are of all positions at once."""
    provenance: Provenance | None = None
    digest: str = ""
    """SHA-256 of everything that decides what is run: shape, weights, rule, edges and scores."""


class CircuitRequest(Wire):
    """Run circuits of several sizes on prompt pairs, and say how much of the model each is."""

    circuit: Circuit
    pairs: Annotated[list[PromptPair], Field(min_length=1, max_length=10_000)]
    metric: CircuitMetric | None = None
    """Without it, `logit_diff` where all pairs have a foil, else `logprob`."""
    sizes: Annotated[list[Whole], Field(min_length=1, max_length=1_000)] | None = None
    """How many of the strongest edges, or nodes; without it, shares from 0.1 to 100 %, as far as
    the circuit has them, and its own size."""
    rules: Annotated[list[CircuitRule], Field(min_length=1, max_length=2)] = [
        "absolute",
        "signed",
    ]
    random: bool = True
    """Whether a random circuit of every size is run beside them."""
    seed: Whole = Field(default=0, ge=0)
    drop_wrong: bool = True
    """Leave out pairs that the model gets wrong, as sweeps do."""


class CircuitEvaluation(Wire):
    """How much of the model a circuit is, over prompt pairs."""

    kind: Literal["edges", "nodes"]
    size: Whole
    """Of the circuit itself."""
    of: Whole
    """All edges of the model, or all nodes."""
    metric: CircuitMetric
    curves: list[CircuitCurve]
    outside: float
    """The mean of the prompts that edges outside carry."""
    inside: float
    pairs: Whole
    clusters: Whole
    dropped: list[DroppedPair]
    noise_floor: float
    """How far the whole model, put together edge by edge, is from the model itself at the most: in
    the metric's units."""
    circuits: Whole
    """How many were run."""
    seconds: float
    warnings: list[str]
    digest: str
    """The circuit's."""
    provenance: Provenance | None = None


class CircuitPair(Wire):
    """One finished pair."""

    type: Literal["pair"] = "pair"
    done: Whole
    of: Whole
    seconds: float
    """Since the beginning."""


class CircuitSummary(CircuitEvaluation):
    """The same as the last event."""

    type: Literal["summary"] = "summary"


CircuitEvent = Annotated[CircuitPair | CircuitSummary | Failed, Field(discriminator="type")]
