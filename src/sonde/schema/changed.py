"""What a policy now does that it did not: two checkpoints of a run on the same texts.

The texts are kept with the run, and so is every answer, so that a page can show it without a model.
"""

from typing import Literal

from sonde.schema.analytics import Coefficient
from sonde.schema.base import Wire
from sonde.schema.records import Filed


class Probe(Filed):
    """A completion of the run that its checkpoints are read on: a line of `probes.jsonl`."""

    generation_id: str
    step: int
    R: float | None
    prompt: str
    completion: str
    prompt_tokens: int
    completion_tokens: int
    """Counted by the trainer: an end token has no text."""


class TokenGain(Wire):
    """A token of completions, wherever it was said."""

    token: str
    count: int
    gain: float
    """By how much its log-probability rose, all of its places together."""
    mean: float


class PlaceGain(Wire):
    """One token of one completion."""

    generation_id: str
    token: str
    index: int
    """Which of the completion, from 0."""
    context: str
    """The end of what stands before it."""
    before: float
    """Its log-probability at the first checkpoint."""
    after: float


class FeatureMove(Wire):
    """A feature whose activation changed where completions are decided."""

    layer: int
    feature: int
    places: int
    """At how many of them it changed."""
    moved: float
    """By how much, on average over these."""
    with_gain: float | None
    """Correlation of the change with the gain of the token decided there, over all places."""
    undone: float | None
    """What of the gain goes when it is put back, on the later checkpoint, to what it was on the
    earlier one: log-probability, all tokens together. Null where it was not tried."""
    random: list[float]
    """The same of random directions, each as long as what was put back."""
    p: float | None
    """Share of these, the feature among them, that undo at least as much, either way."""
    p_family: float | None
    """The same corrected over all features that were put back."""
    reward: float | None
    """What the reward owes to it, where that was measured."""
    with_reward: Coefficient | None
    """Correlation of its activity with the reward over the run, within groups."""


class LayerMove(Wire):
    """A whole layer put back to what it was where completions are decided."""

    layer: int
    what: Literal["all features", "all + error"]
    """Every feature that changed, at once, or all of the residual stream that leaves the layer."""
    undone: float
    """What of the gain goes."""
    random: list[float]
    """The same of random directions, as long at every position."""
    p: float | None
    """Share of these, itself among them, that undo at least as much, either way."""
    p_family: float | None
    """The same corrected over all layers that were put back in the same way."""


class Changed(Wire):
    """What became of a policy between two checkpoints. Step 0 is the model it began as."""

    format: Literal["sonde.changed.1"] = "sonde.changed.1"
    made: float
    """Seconds since 1970."""
    first: int
    last: int
    weights: list[str]
    """Fingerprints of the two."""
    probes: int
    left_out: int
    """Probes whose text does not come out at the tokens that were recorded."""
    tokens: int
    gain: float
    """How far the log-probability of all tokens rose together; a loss is negative."""
    by_place: list[float]
    """The same of first tokens, of second ones, and so on."""
    gained: list[TokenGain]
    """The most first."""
    lost: list[TokenGain]
    places: list[PlaceGain]
    features: list[FeatureMove]
    """By what putting them back undoes, then by the reward, then by how they go with it."""
    layers: list[LayerMove] = []
    """Every layer whole, from the first on, then all features of those that were watched; none
    where that was not tried."""
    reasons: list[str]
    """What could not be told, and why."""


class ChangedAnswer(Wire):
    """What is known of a run's changes: the pairs of steps, and one of them."""

    known: list[list[int]]
    changed: Changed | None
    reason: str | None
    """Why there is none."""
