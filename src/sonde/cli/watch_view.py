"""One frame of `sonde watch`: layers over time, reward, fit and warnings. Pure text.

A cell of the heatmap is the highest loss of its column, so that one bad token among thousands is
seen; or the mean, on request. Each layer has a scale of its own, because losses of different layers
do not compare. Without colour a cell is its place on that scale, from 0 to 9.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sonde.cli.run_view import ending, reward_plot, status_of, wrapped
from sonde.results.colors import sequential
from sonde.results.numbers import MISSING, count, duration, fixed, number
from sonde.results.pen import Pen
from sonde.results.tokens import fit, visible
from sonde.runs.analytics.curves import health_curves, reward_curves
from sonde.runs.analytics.heatmap import layer_tile, time_axis
from sonde.runs.reader import model_name
from sonde.schema.analytics import Curves, Tile

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from sonde.runs.analytics.analysis import RunContents
    from sonde.schema.runs import RunRow

Value = Literal["high", "mean"]

LABEL, SCALE = 4, 18
"""Columns for a layer's number, and for the ends of its scale."""
WIDEST = 3
GAP = "·"


@dataclass(frozen=True)
class View:
    """How a frame is drawn."""

    pen: Pen
    width: int
    value: Value = "high"

    @property
    def room(self) -> int:
        """Columns for the heatmap."""
        return max(1, min(512, self.width - LABEL - SCALE))


def frame(
    known: RunContents, cursor: DuckDBPyConnection, row: RunRow, now: float, view: View
) -> list[str]:
    """The lines, none wider than the view."""
    tile = layer_tile(known, cursor, time_axis(known, columns=view.room))
    return [
        *_heading(known, row, now, view),
        "",
        *heatmap(tile, view),
        "",
        *reward_plot(reward_curves(known, columns=60), view.width),
        *_step(known, view),
        "",
        *_fit(health_curves(known), view),
    ]


def heatmap(tile: Tile, view: View) -> Iterator[str]:
    """Layers over time, the last layer on top."""
    pen = view.pen
    what = "highest" if view.value == "high" else "mean"
    if not tile.columns:
        yield pen.dim(fit(f"no records yet: {tile.reason}", view.width))
        return
    last = tile.start + tile.columns * tile.width - 1
    of = f" of step {tile.step}" if tile.unit == "token" else ""
    each = "" if tile.width == 1 else f", {tile.width} a column"
    title = f"reconstruction loss, {what}, {tile.unit}s {tile.start} to {last}{of}{each}"
    yield pen.bold(fit(title, view.width))
    wide = max(1, min(WIDEST, view.room // tile.columns))
    values = tile.high if view.value == "high" else tile.mean
    for layer, cells in reversed(list(zip(tile.rows, values, strict=True))):
        there = [cell for cell in cells if cell is not None]
        low, high = (min(there), max(there)) if there else (0.0, 0.0)
        drawn = "".join(_cell(cell, low, high, wide, pen) for cell in cells)
        scale = f" {number(low)} to {number(high)}" if there else f" {MISSING}"
        yield f"{pen.dim(f'{layer:>{LABEL - 1}} ')}{drawn}{pen.dim(fit(scale, SCALE))}"


def _cell(value: float | None, low: float, high: float, wide: int, pen: Pen) -> str:
    if value is None:
        return pen.dim(GAP * wide)
    place = (value - low) / (high - low) if high > low else 0.0
    if pen.color:
        return pen.on(" " * wide, sequential(place, pen.theme))
    return str(min(9, int(10 * place))) * wide


def _heading(known: RunContents, row: RunRow, now: float, view: View) -> Iterator[str]:
    coverage = known.coverage
    age = MISSING if row.written is None else f"{duration(max(0.0, now - row.written))} ago"
    status = f"   {status_of(row)}" if row.status else ""
    model = visible(model_name(row.model))
    yield view.pen.bold(fit(f"{visible(row.run)}{status}   {model}", view.width))
    steps = known.steps()
    at = "no steps yet" if steps is None else f"step {steps[1]}"
    records = count(coverage.records, "record")
    layers = count(len(known.layers), "layer")
    yield view.pen.dim(fit(f"{at}   {records} of {layers}   last written {age}", view.width))
    for text in ending(row):
        yield from map(view.pen.bold, wrapped(text, view.width))
    if not coverage.complete:
        share = coverage.bytes_read / max(coverage.bytes_total, 1)
        yield fit(f"reading: {share:.0%} of what is there", view.width)
    if coverage.withheld:
        yield fit(
            f"{count(coverage.withheld, 'line')} withheld: not valid, or out of place", view.width
        )


def _step(known: RunContents, view: View) -> Iterator[str]:
    if not known.metrics:
        return
    last = known.metrics[-1]
    parts = [f"step {last.iteration}", f"R {fixed(last.rewards_mean, 2)}"]
    if last.rewards_min is not None and last.rewards_max is not None:
        parts.append(f"from {fixed(last.rewards_min, 2)} to {fixed(last.rewards_max, 2)}")
    if last.r_a_pass_rate is not None:
        parts.append(f"gate {last.r_a_pass_rate:.0%}")
    yield fit("   ".join(parts), view.width)


def _fit(health: Curves, view: View) -> Iterator[str]:
    """How well each layer's dictionary fits now, and what the trainer warns of."""
    if not health.series:
        yield view.pen.dim(fit(f"no health: {health.reason}", view.width))
        return
    newest = {
        one.layer: value
        for one in health.series
        if one.name == "fvu"
        for value in [cell for cell in one.mean if cell is not None][-1:]
    }
    if newest:
        each = (f"layer {layer} {fixed(value, 3)}" for layer, value in newest.items())
        yield fit("FVU   " + "   ".join(each), view.width)
    dropped = next((one for one in health.series if one.name == "records_dropped"), None)
    lost = max((value for value in dropped.high if value is not None), default=0) if dropped else 0
    if lost:
        yield fit(f"{count(int(lost), 'record')} left out: writing could not keep up", view.width)
    standing = [alarm for alarm in health.alarms if alarm.standing]
    for alarm in standing:
        text = f"! since step {alarm.first_step}: {visible(alarm.alarm)}"
        yield view.pen.bold(fit(text, view.width))
    if not standing:
        yield view.pen.dim(fit("no warnings", view.width))
