"""What one feature of an autoencoder means, as far as text and tokens can show it."""

from sonde.schema.base import Whole, Wire


class Snippet(Wire):
    """A piece of text on which a feature is strongly active."""

    tokens: list[str]
    heat: str
    """One digit a token: how active the feature is there, in ninths of `value`."""
    value: float
    """The activation at the strongest token."""


class Feature(Wire):
    """One feature: where it is active, and what it says to the output."""

    feature: Whole
    rate: float
    """Share of tokens on which it is active."""
    promoted: list[str]
    """Tokens whose logits it raises most, by the direct way through final norm and unembedding,
    each measured by how much that token's logit moves over all features."""
    suppressed: list[str]
    """Tokens whose logits it lowers most, likewise."""
    snippets: list[Snippet]
    """Where it is most active, each from another context, strongest first; none for a dead one."""


class FeatureCards(Wire):
    """Descriptions of some features of one layer's dictionary."""

    layer: Whole
    dictionary: str
    """Which one was described: a folder's name."""
    features: list[Feature]
    """In the order in which they were asked for; empty where nobody described them."""
    reason: str | None
    """Why there are none."""
