"""A run as one file that opens without a server: the answers that its page would ask for."""

from typing import Literal

from sonde.schema.analytics import (
    Curves,
    GenerationPage,
    GenerationView,
    Measure,
    Overview,
    Scatter,
    Tile,
    Vocabulary,
)
from sonde.schema.base import Wire
from sonde.schema.changed import ChangedAnswer
from sonde.schema.feature import FeatureCards
from sonde.schema.runs import RunRow


class RunCopy(Wire):
    """What is known of a run at one moment, as far as a page shows it."""

    format: Literal["sonde.run-copy.1"] = "sonde.run-copy.1"
    run: RunRow
    """Its directory, and a model that was loaded from one, by name only."""
    made: float
    """When, in seconds since 1970."""
    version: str
    """Of Sonde."""
    overview: Overview
    layers: dict[Measure, Tile]
    features: dict[int, list[Tile]]
    """By layer: its most active features, then those of its vocabulary."""
    rewards: Curves
    health: Curves
    telemetry: Curves | None = None
    scatter: dict[int, Scatter]
    """By layer."""
    vocabulary: Vocabulary
    """Of all layers."""
    layer_vocabulary: dict[int, Vocabulary]
    changed: ChangedAnswer | None = None
    generations: GenerationPage
    views: dict[str, GenerationView]
    """The newest generations token by token, by id; fewer than listed where they are long."""
    pieces: dict[str, list[str]]
    """Completions split into tokens, by generation; empty where no tokenizer was to be had."""
    cards: dict[int, FeatureCards]
    """What features mean, by layer."""
