"""How active some features were at each step of a run: means over that step's recorded tokens.

Where a feature is not among the strongest of a token, it counts as nothing there, so a mean is a
little low where a dictionary keeps few.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sonde.runs.analytics.analysis import RunContents

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Feature = tuple[int, int]
"""Layer and number."""


def activity(
    known: RunContents,
    cursor: "DuckDBPyConnection",
    features: Iterable[Feature],
    steps: Sequence[int],
) -> dict[Feature, list[float | None]]:
    """The mean activation at each of the steps; None where the layer has no record of one."""
    found: dict[Feature, list[float | None]] = {}
    for layer, feature in features:
        by_step = _of(known, cursor, layer, feature)
        found[layer, feature] = [by_step.get(step) for step in steps]
    return found


def _of(
    known: RunContents, cursor: "DuckDBPyConnection", layer: int, feature: int
) -> dict[int, float]:
    if not known.parts:
        return {}
    every = " UNION ALL ".join(f"SELECT * {part.records_from}" for part in known.parts)
    at = f"list_position(features, {feature:d})"
    rows = cursor.execute(
        f"SELECT step, sum(coalesce(list_extract(activations, {at}), 0)) / count(*) "
        f"FROM ({every}) WHERE layer = {layer:d} GROUP BY step"
    ).fetchall()
    return {int(step): float(mean) for step, mean in rows}
