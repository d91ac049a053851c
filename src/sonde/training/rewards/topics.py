"""How close two templates are in meaning, and what chance reaches.

Every template has weights over a few topics. Two templates are as alike as the cosine of their
weights; a guess among all templates reaches the *null* mean, and only what is above it counts.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path

from sonde.errors import BadReward
from sonde.training.rewards.catalog import NULL_STATS_FILE, TOPICS_FILE

Weights = Mapping[str, Mapping[str, float]]
"""Template -> topic -> weight."""


class Topics:
    """The topic weights of a catalog's templates, and the null statistics that go with them."""

    def __init__(self, weights: Weights, null: Mapping[str, Mapping[str, float]]) -> None:
        self._weights = weights
        self._null = null

    def agreement(self, wanted: str, said: str) -> float:
        """How much of the way from a guess to the wanted template: 0 for a guess, 1 for it."""
        chance = self._null[wanted]["mean"]
        above = (likeness(self._weights, wanted, said) - chance) / (1 - chance)
        return min(1.0, max(0.0, above))


def likeness(weights: Weights, one: str, other: str) -> float:
    """The cosine of two templates' weights."""
    a, b = weights[one], weights[other]
    dot = sum(value * b.get(topic, 0.0) for topic, value in a.items())
    return dot / (math.hypot(*a.values()) * math.hypot(*b.values()))


def null_statistics(weights: Weights) -> dict[str, dict[str, float]]:
    """For each template: mean and deviation of its likeness to a template drawn at random.

    What `null_stats.json` holds; a test compares the two.
    """
    found = {}
    for wanted in weights:
        drawn = [likeness(weights, wanted, other) for other in weights]
        mean = sum(drawn) / len(drawn)
        spread = math.sqrt(sum((value - mean) ** 2 for value in drawn) / len(drawn))
        found[wanted] = {"mean": round(mean, 6), "std": round(spread, 6)}
    return found


def load_topics(topics: Path = TOPICS_FILE, null: Path = NULL_STATS_FILE) -> Topics:
    """Read both files."""
    try:
        return Topics(json.loads(topics.read_text()), json.loads(null.read_text()))
    except (OSError, ValueError) as error:
        raise BadReward(f"cannot read {topics} or {null}: {error}") from error
