"""Numbers over steps: rewards, and how well recording goes. Extremes are kept in every column.

Columns are those of tiles: powers of two, counted from step 0.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from sonde.runs.analytics.analysis import RunContents
from sonde.runs.analytics.axis import Axis, axis
from sonde.runs.analytics.generations import numbers
from sonde.runs.analytics.grid import Grid
from sonde.runs.analytics.steplines import HealthLine
from sonde.schema.analytics import AlarmSpan, Curves, Series

METRICS = (
    "rewards_mean",
    "rewards_std",
    "rewards_min",
    "rewards_max",
    "advantage_mean",
    "advantage_std",
    "r_a_pass_rate",
    "n_invalid_compositions",
)
HEALTH = ("fvu", "cosine", "l0", "dead_share", "input_norm")
TELEMETRY = (
    "kl",
    "policy_loss",
    "entropy",
    "grad_norm",
    "learning_rate",
    "completion_length",
    "truncated_share",
    "tokens_per_second",
    "step_seconds",
    "seconds_left",
)
QUANTILES = (10, 25, 50, 75, 90)
"""Of a step's rewards, in 100."""
RECORDING = ("records_written", "records_dropped", "sidecar_ms")

_SUMS = np.dtype([("count", "<i8"), ("sum", "<f8"), ("low", "<f8"), ("high", "<f8")])

Column = tuple[str, int | None, Sequence[int], Sequence[float | None]]
"""A name, a layer, and a value at each step."""


def reward_curves(
    known: RunContents,
    *,
    first_step: int | None = None,
    last_step: int | None = None,
    columns: int = 256,
) -> Curves:
    """The reward curve, and the rest of what the trainer says each step."""
    lines = known.metrics
    steps = [line.iteration for line in lines]
    found: list[Column] = [
        (name, None, steps, [getattr(line, name) for line in lines]) for name in METRICS
    ]
    if steps:
        found += known.once("reward quantiles", lambda: _quantiles(known))
    why = _why_not("grpo_metrics.jsonl", known, steps)
    return _curves(known, found, [], first_step, last_step, columns, why)


def telemetry_curves(
    known: RunContents,
    *,
    first_step: int | None = None,
    last_step: int | None = None,
    columns: int = 256,
) -> Curves:
    """How training itself goes: what the trainer logs, and what the sidecar counts beside it."""
    lines = known.telemetry
    steps = [line.step for line in lines]
    found: list[Column] = [
        (name, None, steps, [getattr(line, name) for line in lines]) for name in TELEMETRY
    ]
    why = None if lines else (
        "the run has no telemetry.jsonl: its trainer was older, or not Sonde's"
    )  # fmt: skip
    return _curves(known, found, [], first_step, last_step, columns, why)


def _quantiles(known: RunContents) -> list[Column]:
    """How a step's rewards are spread: from its completions, so that every run has it."""
    once = known.generations.rows[known.generations.once]
    rows = once[~np.isnan(once["R"])]
    steps, starts = np.unique(rows["step"], return_index=True)
    if not len(steps):
        return []
    each = [
        np.quantile(part, [q / 100 for q in QUANTILES]) for part in np.split(rows["R"], starts[1:])
    ]
    at = [int(step) for step in steps]
    return [
        (f"reward_p{q}", None, at, [float(row[n]) for row in each]) for n, q in enumerate(QUANTILES)
    ]


def health_curves(
    known: RunContents,
    *,
    first_step: int | None = None,
    last_step: int | None = None,
    columns: int = 256,
) -> Curves:
    """How well dictionaries fit, layer by layer, what recording costs, and warnings."""
    lines = known.health
    steps = [line.step for line in lines]
    found: list[Column] = [
        (name, None, steps, [getattr(line, name) for line in lines]) for name in RECORDING
    ]
    for layer in sorted({one.layer_index for line in lines for one in line.layers}):
        mine = [(line.step, one) for line in lines for one in line.layers]
        mine = [(step, one) for step, one in mine if one.layer_index == layer]
        at = [step for step, _ in mine]
        found += [(name, layer, at, [getattr(one, name) for _, one in mine]) for name in HEALTH]
    why = _why_not("sae_health.jsonl", known, steps)
    return _curves(known, found, alarm_spans(lines), first_step, last_step, columns, why)


def alarm_spans(lines: Sequence[HealthLine]) -> list[AlarmSpan]:
    """Warnings, each from its first line to its last, the newest first.

    A warning is known by what is before its colon; the numbers after it change.
    """
    spans: dict[str, AlarmSpan] = {}
    newest = {_kind(alarm) for alarm in lines[-1].alarms} if lines else set()
    for line in lines:
        for alarm in line.alarms:
            kind = _kind(alarm)
            first = spans[kind].first_step if kind in spans else line.step
            spans[kind] = AlarmSpan(
                alarm=alarm, first_step=first, last_step=line.step, standing=kind in newest
            )
    return sorted(spans.values(), key=lambda span: (-span.last_step, span.first_step))


def _kind(alarm: str) -> str:
    return alarm.partition(":")[0]


def _why_not(name: str, known: RunContents, steps: Sequence[int]) -> str | None:
    if name in known.missing:
        return f"the run has no {name}; trainers that Sonde did not write leave it out"
    return None if steps else f"{name} has no lines yet"


def _curves(
    known: RunContents,
    found: Iterable[Column],
    alarms: list[AlarmSpan],
    first_step: int | None,
    last_step: int | None,
    columns: int,
    why: str | None,
) -> Curves:
    found = list(found)
    steps = np.concatenate([np.asarray(at, np.int64) for _, _, at, _ in found])
    first, last = (int(steps.min()), int(steps.max())) if len(steps) else (0, 0)
    start = first if first_step is None else first_step
    end = max(last, start) if last_step is None else last_step
    at = axis("step", start, end + 1, most=columns)
    return Curves(
        coverage=known.coverage,
        start=at.start,
        width=at.width,
        columns=at.columns,
        first_step=first if len(steps) else None,
        last_step=last if len(steps) else None,
        series=[_series(at, *column) for column in found] if len(steps) else [],
        alarms=alarms,
        reason=why,
    )


def _series(
    at: Axis,
    name: str,
    layer: int | None,
    steps: Sequence[int],
    values: Sequence[float | None],
) -> Series:
    value = numbers(values)
    column = (np.asarray(steps, np.int64) >> at.level) - at.first
    inside = (column >= 0) & (column < at.columns) & ~np.isnan(value)
    sums = np.zeros(int(inside.sum()), _SUMS)
    sums["count"] = 1
    for what in ("sum", "low", "high"):
        sums[what] = value[inside]
    grid = Grid.empty(1, at.columns)
    grid.add(np.zeros(len(sums), np.int64), column[inside], sums)
    cells = {what: rows[0] for what, rows in grid.cells().items()}
    return Series(name=name, layer=layer, **cells)
