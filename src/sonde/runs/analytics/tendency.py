"""How the activity of some features goes with the reward, within groups, over a whole run.

Activity is the summed activation of a completion's recorded tokens over their number: where a
feature is not among the strongest, nothing. Within groups, because completions of one prompt differ
in what was said and not in what was asked.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from sonde.runs.analytics.analysis import RunContents
from sonde.runs.analytics.database import arrays
from sonde.runs.analytics.losses import register
from sonde.schema.analytics import Coefficient
from sonde.statistics.correlation import within_groups

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Feature = tuple[int, int]
"""Layer and number."""


def with_reward(
    known: RunContents, cursor: "DuckDBPyConnection", features: Iterable[Feature]
) -> dict[Feature, Coefficient | None]:
    """Pearson's r of each feature's activity with R; None where nothing varies within a group."""
    rows = known.generations.rows
    wanted = list(dict.fromkeys(features))
    rewarded = known.generations.once & ~np.isnan(rows["R"])
    if not wanted or not known.parts or not rewarded.any():
        return dict.fromkeys(wanted)
    register(cursor, known.generations.spans)
    found: dict[Feature, Coefficient | None] = {}
    for layer in sorted({layer for layer, _ in wanted}):
        numbers = [feature for of, feature in wanted if of == layer]
        tokens = _tokens(known, cursor, layer)
        there = rewarded & (tokens > 0)
        for feature, summed in zip(numbers, _sums(known, cursor, layer, numbers), strict=True):
            activity = summed[there] / tokens[there]
            together = within_groups(activity, rows["R"][there], rows["group"][there])
            found[layer, feature] = together.pearson
    return found


def _said(known: RunContents, layer: int) -> str:
    """The statement for a layer's records of completion tokens, joined to their generations."""
    each = " UNION ALL ".join(f"SELECT * {part.records_from}" for part in known.parts)
    return f"""
        FROM (SELECT * FROM ({each}) WHERE layer = {layer:d}) AS records
        ASOF JOIN spans ON records.step = spans.step AND records.token_index >= spans.token_start
        WHERE token_index < said_end
    """


def _tokens(known: RunContents, cursor: "DuckDBPyConnection", layer: int) -> np.ndarray:
    """How many tokens of each generation were recorded."""
    found = arrays(cursor, f"SELECT generation, count(*) AS n {_said(known, layer)} GROUP BY 1")
    tokens = np.zeros(len(known.generations.rows), np.int64)
    tokens[found["generation"]] = found["n"]
    return tokens


def _sums(
    known: RunContents, cursor: "DuckDBPyConnection", layer: int, features: list[int]
) -> np.ndarray:
    """The summed activation of each feature in each generation. -> [features, generations]"""
    names = ", ".join(map(str, features))
    found = arrays(
        cursor,
        f"""
        SELECT generation, feature, coalesce(sum(activation), 0) AS sum
        FROM (
            SELECT generation, unnest(features) AS feature, unnest(activations) AS activation
            {_said(known, layer)}
        )
        WHERE feature IN ({names}) GROUP BY ALL
        """,
    )
    place = {feature: row for row, feature in enumerate(features)}
    sums = np.zeros((len(features), len(known.generations.rows)))
    sums[[place[int(each)] for each in found["feature"]], found["generation"]] = found["sum"]
    return sums
