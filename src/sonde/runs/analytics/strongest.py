"""Where in a run a feature was most active: the recorded tokens, and whose they are.

A record tells its strongest features, so a token that is not here may have had the feature a
little. The prompt's last token counts as position -1 of the completion that it decides.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sonde.runs.analytics.analysis import RunContents
from sonde.runs.analytics.generations import NO_TOKEN

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True)
class Spot:
    """One recorded token that has the feature."""

    place: int
    """Of its generation, in the run."""
    position: int
    """In the completion; -1 is the last token of the prompt."""
    activation: float


def strongest(
    known: RunContents,
    cursor: "DuckDBPyConnection",
    layer: int,
    feature: int,
    *,
    limit: int = 64,
    within: int | None = None,
) -> list[Spot]:
    """The tokens at which a feature was most active, strongest first; of equal ones the newest.

    `within` is the place of a generation, whose tokens are then the only ones.
    """
    if not known.parts:
        return []
    only = ""
    if within is not None:
        row = known.generations.rows[within]
        only = (
            f"AND step = {row['step']:d} AND token_index >= {row['token_start']:d} "
            f"AND token_index < {row['token_end']:d}"
        )
    each = (
        f"SELECT step, token_index, list_extract(activations, list_position(features, {feature:d}))"
        f" AS activation FROM (SELECT * {part.records_from}) "
        f"WHERE layer = {layer:d} AND list_contains(features, {feature:d}) {only}"
        for part in known.parts
    )
    rows = cursor.execute(
        f"SELECT step, token_index, activation FROM ({' UNION ALL '.join(each)}) "
        "WHERE activation IS NOT NULL ORDER BY activation DESC, step DESC, token_index "
        f"LIMIT {limit:d}"
    ).fetchall()
    return list(_joined(known, rows))


def _joined(known: RunContents, rows: list[tuple[int, int, float]]) -> Iterator[Spot]:
    """Each record with its generation; those that are of none are left out."""
    generations = known.generations
    starts, ends = generations.rows["token_start"], generations.rows["token_end"]
    for step, token, activation in rows:
        of_step = generations.between(step, step)
        inside = (starts[of_step] <= token) & (token < ends[of_step])
        for place in np.flatnonzero(inside)[:1] + of_step.start:
            row = generations.rows[place]
            is_prompt = row["prompt_token"] != NO_TOKEN and token == row["prompt_token"]
            position = -1 if is_prompt else token - int(row["token_start"])
            yield Spot(int(place), position, float(activation))
