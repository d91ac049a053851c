"""One feature over all of a run: how often and how strongly it was active, and where most."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from sonde.runs.analytics.analysis import RunContents
from sonde.runs.analytics.generation import generation_view
from sonde.runs.analytics.strongest import Spot, strongest
from sonde.schema.analytics import TokenFeatures
from sonde.schema.feature_in_run import FeatureInRun, RunSnippet

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

BINS: Final = 24
AROUND: Final = 10
"""Tokens on either side of the strong one."""
LOOKED_AT: Final = 400

Split = Callable[[str], list[str]]


def feature_in_run(
    known: RunContents,
    cursor: "DuckDBPyConnection",
    layer: int,
    feature: int,
    *,
    split: Split | None = None,
    snippets: int = 24,
) -> FeatureInRun:
    """What is known of it. `split` is the run's own tokenizer, where there is one."""
    high, tokens = _range(known, cursor, layer, feature)
    recorded = sum(
        int(part.layers["records"][part.layers["layer"] == layer].sum()) for part in known.parts
    )
    spots = strongest(known, cursor, layer, feature, limit=LOOKED_AT) if tokens else []
    first = {spot.place: spot for spot in reversed(spots)}  # of each completion the strongest
    chosen = sorted(first.values(), key=lambda spot: -spot.activation)[:snippets]
    edges, counts = _histogram(known, cursor, layer, feature, high) if high else ([], [])
    return FeatureInRun(
        coverage=known.coverage,
        layer=layer,
        feature=feature,
        tokens=tokens,
        recorded=recorded,
        edges=edges,
        counts=counts,
        snippets=[_snippet(known, cursor, spot, layer, feature, split) for spot in chosen],
        reason=None if tokens else "it was among the strongest of no recorded token yet",
    )


def _records(known: RunContents, layer: int, feature: int) -> str:
    """The statement for its activations."""
    each = (
        f"SELECT list_extract(activations, list_position(features, {feature:d})) AS activation "
        f"FROM (SELECT * {part.records_from}) "
        f"WHERE layer = {layer:d} AND list_contains(features, {feature:d})"
        for part in known.parts
    )
    return " UNION ALL ".join(each)


def _range(
    known: RunContents, cursor: "DuckDBPyConnection", layer: int, feature: int
) -> tuple[float | None, int]:
    if not known.parts:
        return None, 0
    found = cursor.execute(
        f"SELECT max(activation), count(*) FROM ({_records(known, layer, feature)})"
    ).fetchone()
    return (None, 0) if found is None else (found[0], int(found[1]))


def _histogram(
    known: RunContents, cursor: "DuckDBPyConnection", layer: int, feature: int, high: float
) -> tuple[list[float], list[int]]:
    """Bins of equal width from 0 to the highest; what was below 0 is in the first."""
    width = high / BINS
    if width <= 0:
        return [], []
    rows = cursor.execute(
        f"SELECT greatest(0, least({BINS - 1}, floor(activation / {width!r})))::INTEGER AS bin, "
        f"count(*) FROM ({_records(known, layer, feature)}) "
        "WHERE activation IS NOT NULL GROUP BY bin"
    ).fetchall()
    counts = [0] * BINS
    for place, count in rows:
        counts[place] = int(count)
    return [width * edge for edge in range(BINS + 1)], counts


def _snippet(
    known: RunContents,
    cursor: "DuckDBPyConnection",
    spot: Spot,
    layer: int,
    feature: int,
    split: Split | None,
) -> RunSnippet:
    view = generation_view(known, cursor, known.generations.ids[spot.place])
    row = view.generation
    active = {token.position: _at(token, layer, feature) for token in view.tokens}
    said = split(row.completion) if split is not None and row.completion else []
    if not 0 <= row.completion_tokens - len(said) <= 1:
        said = []  # a count that does not agree would colour the wrong token
    start = max(0, spot.position - AROUND)
    places = range(start, min(len(said), spot.position + AROUND + 1))
    return RunSnippet(
        generation_id=row.generation_id,
        step=row.step,
        gate=row.gate,
        position=spot.position,
        value=spot.activation,
        tokens=[said[place] for place in places],
        values=[active.get(place) for place in places],
    )


def _at(token: TokenFeatures, layer: int, feature: int) -> float | None:
    """How active it was at a recorded token: 0 where it was not among the strongest."""
    for each in token.layers:
        if each.layer == layer:
            there = feature in each.features
            return each.activations[each.features.index(feature)] if there else 0.0
    return None
