"""Reconstruction loss by generation and layer: what joins records to rewards.

Worked out once for each part and list of generations. Of a compacted part it is kept beside it,
under a digest of where its generations begin and end, so that a changed list is never taken for
the old one.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sonde.runs.analytics.database import arrays
from sonde.runs.analytics.generations import Generations
from sonde.runs.analytics.parts import Part, table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LOSS = np.dtype(
    [("generation", "<i8"), ("layer", "<i4"), ("records", "<i8"), ("count", "<i8")]
    + [("sum", "<f8"), ("low", "<f8"), ("high", "<f8")]
)
"""`generation` counts from the first of the part's steps."""


@dataclass
class Losses:
    """The losses of one part, for the list of generations they were last asked for."""

    part: Part
    directory: Path | None = None
    """Where they are kept, for a part that is compacted."""
    _known: tuple[str, NDArray[Any]] = field(default_factory=lambda: ("", np.zeros(0, LOSS)))

    def rows(self, connection: "DuckDBPyConnection", generations: Generations) -> NDArray[Any]:
        """Rows of `LOSS`, with generations counted from the first of the run."""
        place = generations.between(self.part.first_step, self.part.last_step)
        bounds = generations.spans[place]
        key = hashlib.blake2b(bounds.tobytes(), digest_size=8).hexdigest()
        known = self._known
        if key != known[0]:
            known = self._known = key, self._kept(connection, key, bounds)
        rows = known[1].copy()
        rows["generation"] += place.start
        return rows

    def _kept(
        self, connection: "DuckDBPyConnection", key: str, bounds: NDArray[Any]
    ) -> NDArray[Any]:
        if self.directory is None:
            return joined(connection, self.part, bounds)
        path = self.directory / f"losses-{key}.npy"
        try:
            kept: NDArray[Any] = np.load(path, allow_pickle=False)
        except (OSError, ValueError):
            kept = joined(connection, self.part, bounds)
            _keep(path, kept)
        return kept


def all_losses(
    parts: Iterable[Losses], connection: "DuckDBPyConnection", generations: Generations
) -> NDArray[Any]:
    """The losses of all parts; a generation that is cut in two has rows in both."""
    return np.concatenate(
        [np.zeros(0, LOSS), *(part.rows(connection, generations) for part in parts)]
    )


def joined(connection: "DuckDBPyConnection", part: Part, bounds: NDArray[Any]) -> NDArray[Any]:
    """Sum up a part's records by generation and layer; losses are those of completion tokens."""
    if not len(bounds):
        return np.zeros(0, LOSS)
    register(connection, bounds)
    found = arrays(
        connection,
        f"""
        SELECT generation, layer, count(*) AS records, count(said) AS count, sum(said) AS sum,
               min(said) AS low, max(said) AS high
        FROM (
            SELECT generation, layer, CASE WHEN token_index < said_end THEN loss END AS said
            FROM (SELECT step, token_index, layer, loss {part.records_from}) AS records
            ASOF JOIN spans
            ON records.step = spans.step AND records.token_index >= spans.token_start
            WHERE token_index < token_end
        )
        GROUP BY generation, layer ORDER BY generation, layer
        """,
    )
    return table(LOSS, found)


def register(connection: "DuckDBPyConnection", bounds: NDArray[Any]) -> None:
    """Let statements of this cursor see generations as the table `spans`."""
    step, start, end, said = np.ascontiguousarray(bounds.T)
    columns = {
        "generation": np.arange(len(bounds)),
        "step": step,
        "token_start": start,
        "token_end": end,
        "said_end": said,
    }
    connection.register("spans", columns)


def _keep(path: Path, rows: NDArray[Any]) -> None:
    """Save it for later, if that can be done; those for older lists go."""
    try:
        for old in path.parent.glob("losses-*.npy"):
            old.unlink(missing_ok=True)
        beside = path.with_suffix(".new")
        with beside.open("wb") as file:
            np.save(file, rows, allow_pickle=False)
        beside.replace(path)
    except OSError:
        return
