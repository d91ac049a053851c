"""Which generation has which feature: pairs of both, feature after feature.

A window is the generations that are compared. Of a whole run there are millions of tokens and few
pairs that matter, so pairs are counted by the database, a layer at a time, and what is in fewer
than m generations never leaves it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sonde.runs.analytics.analysis import RunContents
from sonde.runs.analytics.database import arrays
from sonde.runs.analytics.losses import register

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Window:
    """Generations to compare, by their place in the run."""

    places: Whole
    passed: NDArray[np.bool_]
    group: Whole
    last: NDArray[np.bool_]
    """Which of them are the last n passed ones."""
    steps: tuple[int, int]
    whole: bool
    """Whether no generation of the run is left out."""


@dataclass(frozen=True)
class Presence:
    """Features, and the generations of a window that have each: one at least."""

    layer: Whole
    feature: Whole
    start: Whole
    """Where each feature's generations begin."""
    generation: Whole
    """Places in the window, in order within a feature."""
    activation: NDArray[np.float64]
    """Mean over the tokens of passed generations that have it; NaN where there are none."""

    def __len__(self) -> int:
        """How many features."""
        return len(self.feature)

    @cached_property
    def row(self) -> Whole:
        """Which feature each pair is of."""
        return np.repeat(np.arange(len(self)), np.diff(np.append(self.start, len(self.generation))))

    def among(self, chosen: NDArray[np.bool_]) -> Whole:
        """How many of some generations have each feature."""
        return np.bincount(self.row[chosen[self.generation]], minlength=len(self))

    def by(self, kind: Whole, kinds: int) -> Whole:
        """How many generations of each kind have each feature; kind -1 is left out."""
        of = kind[self.generation]
        cells = self.row[of >= 0] * kinds + of[of >= 0]
        return np.bincount(cells, minlength=len(self) * kinds).reshape(len(self), kinds)

    def patterns(self) -> list[list[int]]:
        """Features that exactly the same generations have, by row; each list in order."""
        found: dict[bytes, list[int]] = {}
        for row, each in enumerate(np.split(self.generation, self.start[1:])):
            found.setdefault(each.tobytes(), []).append(row)
        return list(found.values()) if len(self) else []


def presence(
    known: RunContents,
    cursor: "DuckDBPyConnection",
    window: Window,
    layers: list[int],
    min_tokens: int,
    m: int,
) -> Presence:
    """Which generation of the window has which feature, of those that m generations have."""
    each = [_nothing()]
    if records := _records(known, window):
        register(cursor, known.generations.spans[window.places])
        each += [
            _one(layer, _pairs(cursor, records, layer, min_tokens, m), window) for layer in layers
        ]
    before = np.cumsum([0, *(len(one.generation) for one in each)])
    return Presence(
        np.concatenate([one.layer for one in each]),
        np.concatenate([one.feature for one in each]),
        np.concatenate([one.start + more for one, more in zip(each, before, strict=False)]),
        np.concatenate([one.generation for one in each]),
        np.concatenate([one.activation for one in each]),
    )


def _nothing() -> Presence:
    empty = np.zeros(0, np.int64)
    return Presence(empty, empty, empty, empty, np.zeros(0))


def _records(known: RunContents, window: Window) -> str:
    """The statement for the records of the window; empty where there are none."""
    first, last = window.steps
    parts = [part for part in known.parts if part.first_step <= last and part.last_step >= first]
    chosen = f"step BETWEEN {first:d} AND {last:d}"
    each = (f"SELECT * FROM (SELECT * {part.records_from}) WHERE {chosen}" for part in parts)
    return " UNION ALL ".join(each)


def _pairs(
    cursor: "DuckDBPyConnection", records: str, layer: int, min_tokens: int, m: int
) -> dict[str, Any]:
    """One row a feature and generation that has it, of what m generations have."""
    return arrays(
        cursor,
        f"""
        WITH pairs AS MATERIALIZED (
            SELECT feature, generation, sum(activation) AS sum, count(activation) AS count
            FROM (
                SELECT generation::INTEGER AS generation, unnest(features) AS feature,
                       unnest(activations) AS activation
                FROM (SELECT * FROM ({records}) WHERE layer = {layer:d}) AS records
                ASOF JOIN spans
                ON records.step = spans.step AND records.token_index >= spans.token_start
                WHERE token_index < said_end
            )
            WHERE feature IS NOT NULL
            GROUP BY feature, generation HAVING count(*) >= {min_tokens:d}
        )
        SELECT * FROM pairs
        WHERE feature IN (SELECT feature FROM pairs GROUP BY feature HAVING count(*) >= {m:d})
        ORDER BY feature, generation
        """,
    )


def _one(layer: int, found: dict[str, Any], window: Window) -> Presence:
    """The pairs of one layer."""
    feature = np.asarray(found["feature"]).astype(np.int64)
    generation = np.asarray(found["generation"]).astype(np.int64)
    names, start = np.unique(feature, return_index=True)
    row = np.searchsorted(names, feature)
    passed = window.passed[generation]
    added = np.ma.filled(found["sum"], 0.0)[passed]
    total = np.bincount(row[passed], added, len(names))
    count = np.bincount(row[passed], found["count"][passed], len(names))
    mean = np.divide(total, count, out=np.full(len(names), np.nan), where=count > 0)
    return Presence(np.full(len(names), layer), names, start, generation, mean)
