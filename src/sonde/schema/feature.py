"""What one feature of an autoencoder means, as far as text and tokens can show it."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sonde.schema.base import Whole, Wire

Part = Literal["top", "middle", "low"]
"""Where in a feature's range: of its highest peaks, or of others spaced over the rest."""


class Snippet(Wire):
    """A piece of text on which a feature is strongly active."""

    tokens: list[str]
    heat: str
    """One digit a token: how active the feature is there, in ninths of `value`."""
    value: float
    """The activation at the strongest token."""
    part: Part = "top"


class TokenShare(Wire):
    """A token, and on what share of a feature's activity it stands there."""

    token: str
    share: float


class Neighbour(Wire):
    """A feature whose direction is near."""

    feature: Whole
    cosine: float


class Label(Wire):
    """What somebody said a feature means, who said it, and how far that was found to be so."""

    text: Annotated[str, Field(min_length=1, max_length=1000)]
    source: Annotated[str, Field(min_length=1, max_length=200)]
    """Who wrote it: an explainer's model, or the export it was imported from."""
    score: Annotated[float, Field(ge=0, le=1)] | None
    """How far it was found to be so; null where nobody has measured it."""
    measure: Annotated[str, Field(max_length=200)] | None = None
    """What the score is: `detection` is balanced accuracy, where 0.5 is chance."""
    scorer: Annotated[str, Field(max_length=200)] | None = None
    """Which model measured it."""
    examples: Whole | None = None
    """On how many snippets, if that is known."""
    reason: Annotated[str, Field(max_length=400)] | None = None
    """Why there is no score."""

    @model_validator(mode="after")
    def _scored_or_not(self) -> Self:
        if (self.score is None) != (self.reason is not None):
            raise ValueError("a label has a score, or the reason why it has none")
        if (self.score is None) != (self.measure is None):
            raise ValueError("a score says what it measures")
        return self


class LabelFile(Wire):
    """`labels.json` beside a dictionary: labels of some of its features."""

    format: Literal["sonde.labels"] = "sonde.labels"
    version: Literal[1] = 1
    sha256: str | None
    """Of the dictionary's weights: the same number means something else in another."""
    labels: dict[Whole, Label]
    """By the feature's number."""


class Feature(Wire):
    """One feature: where it is active, and what it says to the output."""

    feature: Whole
    rate: float
    """Share of tokens on which it is active."""
    promoted: list[str]
    """Tokens whose logits it raises most, by the direct way through final norm and unembedding,
    each measured by how much that token's logit moves over all features. Empty where random
    directions raise some token as much: then they say nothing."""
    suppressed: list[str]
    """Tokens whose logits it lowers most, likewise."""
    snippets: list[Snippet]
    """Where it is most active, each from another context, strongest first; none for a dead one."""
    promoted_by: list[float] = []
    """How far a small step moves each promoted token's logit, in standard deviations of its
    movement over features; empty where it was not kept."""
    suppressed_by: list[float] = []
    """The same of those suppressed."""
    on: list[TokenShare] = []
    """The commonest tokens on which it is active."""
    after: list[TokenShare] = []
    """The commonest tokens just before those."""
    before: list[TokenShare] = []
    """The commonest tokens just after them."""
    neighbours: list[Neighbour] = []
    """Features with the nearest directions, by the cosine of their decoder rows."""
    kinds: dict[str, float] = {}
    """On what share of the tokens of each kind of text it is active."""
    label: Label | None = None
    """What somebody said it means; null where nobody has."""


class FeatureCards(Wire):
    """Descriptions of some features of one layer's dictionary."""

    layer: Whole
    dictionary: str
    """Which one was described: a folder's name."""
    features: list[Feature]
    """In the order in which they were asked for; empty where nobody described them."""
    reason: str | None
    """Why there are none."""
