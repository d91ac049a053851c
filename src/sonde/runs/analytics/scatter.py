"""Reconstruction loss against reward, a point a generation, and how the two go together.

A reward behind a gate has two humps, and one r over both mostly says that there are two. So it is
also given among passed and among failed generations, and for differences within groups, which are
what GRPO learns from. Loss compares within one layer only, so there is always one.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sonde.runs.analytics.analysis import RunContents
from sonde.runs.analytics.generations import FAILED, PASSED, gate_of
from sonde.runs.analytics.grid import Grid
from sonde.schema.analytics import GroupDifference, Scatter, ScatterPoints
from sonde.statistics.correlation import correlation, passed_minus_failed, within_groups

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NO_GENERATIONS = (
    "the run has no generations.jsonl, which joins records to rewards; trainers that Sonde did not "
    "write leave it out"
)
NO_LAYER = "there are no records"


def scatter(
    known: RunContents,
    cursor: "DuckDBPyConnection",
    layer: int | None = None,
    *,
    first_step: int | None = None,
    last_step: int | None = None,
    points: int = 2000,
) -> Scatter:
    """Loss against reward over some steps, both ends included; without a layer, the first."""
    layers = known.layers
    layer = layers[0] if layer is None and layers else layer
    rows = known.generations.rows
    chosen = known.generations.within(first_step, last_step)
    if not known.generations.there or layer is None:
        return _empty(known, layer, NO_LAYER if known.generations.there else NO_GENERATIONS)
    losses = layer_losses(known, cursor, layer)
    rewarded = ~np.isnan(rows["R"])
    there = chosen & rewarded & (losses["count"] > 0)
    kept, loss = rows[there], losses["mean"][there]
    reward, gate, group = kept["R"], kept["gate"], kept["group"]
    passed, failed = gate == PASSED, gate == FAILED
    gated = passed | failed
    newest = np.flatnonzero(there)[max(0, int(there.sum()) - points) :]
    return Scatter(
        coverage=known.coverage,
        layer=layer,
        generations=int(chosen.sum()),
        without_reward=int((chosen & ~rewarded).sum()),
        without_records=int((chosen & (losses["count"] == 0)).sum()),
        rewards_zero=int((reward == 0).sum()),
        correlations=[
            correlation("all", loss, reward),
            correlation("passed", loss[passed], reward[passed]),
            correlation("failed", loss[failed], reward[failed]),
            within_groups(loss, reward, group),
        ],
        passed_minus_failed=passed_minus_failed(loss[gated], passed[gated], group[gated]),
        points=_points(known, losses, newest),
        points_total=int(there.sum()),
        reason=None if there.any() else "no generation has both a reward and records",
    )


def layer_losses(
    known: RunContents, cursor: "DuckDBPyConnection", layer: int
) -> dict[str, NDArray[Any]]:
    """Count, mean, least and greatest loss of every generation in one layer."""
    rows = known.losses(cursor)
    rows = rows[rows["layer"] == layer]
    grid = Grid.empty(1, len(known.generations.rows))
    grid.add(np.zeros(len(rows), np.int64), rows["generation"], rows)
    count, low, high = grid.count[0], grid.low[0], grid.high[0]
    mean = np.divide(grid.sum[0], count, out=np.zeros(len(count)), where=count > 0)
    return {"count": count, "mean": mean, "low": low, "high": high}


def _points(
    known: RunContents, losses: dict[str, NDArray[Any]], where: NDArray[np.int64]
) -> ScatterPoints:
    rows, generations = known.generations.rows[where], known.generations
    return ScatterPoints(
        generation_id=[generations.ids[place] for place in where],
        group_id=[generations.groups[group] for group in rows["group"]],
        step=rows["step"].tolist(),
        R=rows["R"].tolist(),
        gate=[gate_of(gate) for gate in rows["gate"]],
        loss=losses["mean"][where].tolist(),
        loss_low=losses["low"][where].tolist(),
        loss_high=losses["high"][where].tolist(),
    )


def _empty(known: RunContents, layer: int | None, why: str) -> Scatter:
    nothing = np.zeros(0, np.int64)
    losses = {name: np.zeros(0) for name in ("count", "mean", "low", "high")}
    return Scatter(
        coverage=known.coverage,
        layer=layer,
        generations=0,
        without_reward=0,
        without_records=0,
        rewards_zero=0,
        correlations=[],
        passed_minus_failed=GroupDifference(groups=0, mean=None, low=None, high=None, reason=why),
        points=_points(known, losses, nothing),
        points_total=0,
        reason=why,
    )
