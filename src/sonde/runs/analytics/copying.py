"""Everything a page shows of a run, asked at once: for a file that opens without a server.

    copy = run_copy(known, cursor, run_row(layout, "my-run"), Describers(...))

It is about the whole run, in columns fine enough for a page. What is long is bounded: generations
are taken token by token, newest first, until they fill `VIEW_BYTES`. What features mean and where
tokens begin is not in a run directory, so both are asked of the server.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, get_args

from sonde.runs.analytics.analysis import RunContents
from sonde.runs.analytics.curves import health_curves, reward_curves, telemetry_curves
from sonde.runs.analytics.generation import generation_page, generation_view
from sonde.runs.analytics.heatmap import feature_tile, layer_tile, time_axis
from sonde.runs.analytics.overview import overview
from sonde.runs.analytics.scatter import scatter
from sonde.runs.analytics.vocabulary import vocabulary
from sonde.runs.reader import model_name
from sonde.schema.analytics import (
    GenerationPage,
    GenerationView,
    Measure,
    Tile,
    VocabularyFeature,
)
from sonde.schema.changed import ChangedAnswer, FeatureMove
from sonde.schema.feature import FeatureCards
from sonde.schema.run_copy import RunCopy
from sonde.schema.runs import RunRow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Line = VocabularyFeature | FeatureMove

COLUMNS = 512
FEATURES = 16
WORDS = 25
POINTS = 2000
GENERATIONS = 40
VIEW_BYTES = 8 * 2**20


@dataclass(frozen=True)
class Describers:
    """What a run directory cannot say of itself."""

    version: str
    cards: Callable[[int, list[int]], FeatureCards]
    """What some features of a layer mean."""
    pieces: Callable[[str], list[str]] | None = None
    """A completion's tokens as texts; None where no tokenizer is to be had."""
    changed: ChangedAnswer | None = None
    """What the policy does that it did not."""


def run_copy(
    known: RunContents, cursor: "DuckDBPyConnection", row: RunRow, described: Describers
) -> RunCopy:
    """The copy. It takes as long as opening the page does."""
    at = time_axis(known, columns=COLUMNS)
    words = vocabulary(known, cursor, limit=WORDS)
    by_layer = {layer: vocabulary(known, cursor, layer, limit=WORDS) for layer in known.layers}
    moved = described.changed and described.changed.changed
    lines: list[Line] = [*(moved.features if moved else ())]
    for each in (words, *by_layer.values()):
        lines += [*each.features, *each.everywhere]
    features = {layer: _features(known, cursor, layer, lines) for layer in known.layers}
    page = generation_page(known, limit=GENERATIONS)
    measures: tuple[Measure, ...] = get_args(Measure)
    return RunCopy(
        run=_without_paths(row),
        made=time.time(),
        version=described.version,
        overview=overview(known, cursor, row.run).model_copy(update={"cache": None}),
        layers={measure: layer_tile(known, cursor, at, measure) for measure in measures},
        features=features,
        rewards=reward_curves(known, columns=COLUMNS),
        health=health_curves(known, columns=COLUMNS),
        telemetry=telemetry_curves(known, columns=COLUMNS),
        scatter={layer: scatter(known, cursor, layer, points=POINTS) for layer in known.layers},
        vocabulary=words,
        layer_vocabulary=by_layer,
        changed=described.changed,
        generations=page,
        views=_views(known, cursor, page),
        pieces=_pieces(page, described.pieces),
        cards={layer: described.cards(layer, _named(tiles)) for layer, tiles in features.items()},
    )


def _without_paths(row: RunRow) -> RunRow:
    """Names only: a file that is sent to somebody does not say where it was."""
    directory = PurePath(row.directory).name
    names: dict[str, object] = {"directory": directory, "model": model_name(row.model) or None}
    if row.unended is not None:
        resume = row.unended.resume.replace(row.directory, directory)
        names["unended"] = row.unended.model_copy(update={"resume": resume})
    return row.model_copy(update=names)


def _features(
    known: RunContents, cursor: "DuckDBPyConnection", layer: int, lines: list[Line]
) -> list[Tile]:
    """The strongest features of a layer over time, and those that some panel names."""
    at = time_axis(known, columns=COLUMNS // 2)
    strongest = feature_tile(known, cursor, at, layer, top=FEATURES)
    named = [(line.layer, line.feature) for line in lines]
    others = dict.fromkeys(
        feature for of, feature in named if of == layer and feature not in strongest.rows
    )
    if not others:
        return [strongest]
    return [strongest, feature_tile(known, cursor, at, layer, features=list(others))]


def _named(tiles: list[Tile]) -> list[int]:
    return [feature for tile in tiles for feature in tile.rows]


def _views(
    known: RunContents, cursor: "DuckDBPyConnection", page: GenerationPage
) -> dict[str, GenerationView]:
    """Generations token by token, newest first, as many as there is room for."""
    views: dict[str, GenerationView] = {}
    left = VIEW_BYTES
    for row in page.generations:
        view = generation_view(known, cursor, row.generation_id)
        left -= len(view.model_dump_json())
        if left < 0:
            break
        views[row.generation_id] = view
    return views


def _pieces(page: GenerationPage, split: Callable[[str], list[str]] | None) -> dict[str, list[str]]:
    if split is None:
        return {}
    return {row.generation_id: split(row.completion) for row in page.generations if row.completion}
