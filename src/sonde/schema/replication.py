"""A replication: what was found in one model, asked of another, and what came out.

A pack is the question: the task, the templates that are held out, and for each finding what the
literature says, how it is measured here, what would count as the same, and why. An answer has an
interval, and its verdict follows from that and the tolerance alone.
"""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from sonde.schema.base import Whole, Wire
from sonde.schema.site import Hook
from sonde.schema.study import Environment, StudyTask

Text = Annotated[str, Field(min_length=1, max_length=2_000)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,63}$")]
Verdict = Literal["as found", "differs", "unclear", "not measured"]


class Between(Wire):
    """From here to there; an end that is not given is open."""

    low: float | None = None
    high: float | None = None


class Finding(Wire):
    """One thing that was found, and how it is asked here."""

    name: Name
    question: Text
    found: Text
    """What the literature found, with its numbers."""
    source: Text
    measure: Name
    """How it is measured: one of `sonde.replication.measures`."""
    options: dict[str, JsonValue] = {}
    tolerance: Between
    """What counts as the same."""
    because: Text
    """Why that."""
    pinned: Between | None = None
    """The interval of all of the pack's pairs, under `Pack.pinned_weights`."""


class Components(Wire):
    """What whole attention and MLP layers do at single roles, several layers at a time."""

    hooks: Annotated[list[Hook], Field(min_length=1, max_length=8)]
    columns: Annotated[list[str], Field(min_length=1, max_length=16)]
    window: Whole = Field(default=6, ge=1, le=64)
    """Layers that are patched together."""


class Pack(Wire):
    """A behaviour, and what is said of it."""

    name: Name
    title: Text
    question: Text
    model: str = "smollm2"
    task: StudyTask
    held_out: Annotated[list[Text], Field(min_length=1, max_length=100)]
    """Templates that nothing is chosen on: how the clusters of their pairs begin."""
    columns: Annotated[list[str], Field(min_length=2, max_length=16)]
    """The roles at which the residual stream is patched."""
    hooks: Annotated[list[Hook], Field(min_length=1, max_length=5)] = ["z"]
    """Of heads; `z` among them."""
    components: Components | None = None
    circuit: Literal["nodes", "heads"] = "nodes"
    """What circuits leave out: heads and MLPs, or heads alone, every MLP in."""
    findings: Annotated[list[Finding], Field(min_length=1, max_length=50)]
    pinned_weights: str | None = None
    """Fingerprint of the weights that `pinned` and `conclusion` are of."""
    conclusion: str | None = None
    """What we conclude of these weights, and what we do not."""


class Answer(Wire):
    """What this model does."""

    finding: Finding
    value: float | None
    low: float | None
    high: float | None
    said: str
    """In words; or why there is no number."""
    verdict: Verdict
    """`as found` where the whole interval is within the tolerance, `differs` where none of it is,
    `unclear` where it reaches over an end."""
    as_pinned: bool | None = None
    """Whether it lies where it lay before; None of other weights, or other pairs."""


class Replication(Wire):
    """Everything that came of one pack on one model."""

    format: Literal["sonde.replication.1"] = "sonde.replication.1"
    pack: Pack
    model: str
    weights: str
    environment: Environment
    pairs: Whole
    """Those that something is chosen on, after those that the model gets wrong are left out."""
    held_out: Whole
    dropped: Whole
    answers: list[Answer]
    nulls: list[str]
    """What was looked for and not found, in words."""
    heads: list[str]
    """The heads that were chosen, strongest first."""
    numbers: str
    """SHA-256 of every number that was computed: equal where every bit is."""
    seconds: dict[str, float]
    """By step."""
