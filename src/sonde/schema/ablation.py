"""What becomes of an answer when a feature is taken out of the residual stream."""

from sonde.schema.base import Whole, Wire
from sonde.schema.site import Hook


class FeatureEffect(Wire):
    """One feature, removed. Effects are changes of the logit difference, answer minus foil."""

    feature: Whole
    activations: list[float]
    """At each position of the prompt; 0 where it is not active, and where no feature is read."""
    effects: list[float | None]
    """Of removing it at that position alone; null where it is not active."""
    everywhere: float
    """Of removing it at all of its positions at once."""
    random: list[float]
    """The same with directions drawn at random, each as long as what was removed there."""
    p: float
    """How often a random direction does at least as much as the feature, counting the feature."""


class Ablation(Wire):
    """Features of one layer removed from one prompt, one at a time."""

    model: str
    weights: str
    """Fingerprint of the weights."""
    dictionary: str
    """sha256 of the autoencoder's file, or where it came from."""
    hook: Hook
    layer: int
    tokens: list[str]
    answer: str
    answer_id: int
    foil: str
    """The answer's strongest rival: the likeliest other token with nothing removed."""
    foil_id: int
    logprob: float
    """Log-probability of the answer with nothing removed."""
    baseline: float
    """Logit difference with nothing removed."""
    control: float
    """Largest change when nothing is removed from what is written back at every position."""
    features: list[FeatureEffect]
    """Those with the largest effect everywhere first."""
    silent: list[int]
    """Features that were asked for and are not active in this prompt."""
