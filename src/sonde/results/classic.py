"""A classic summary as a table: what the patching contract answers, in the form all results have.

Pictures, pages and files are made from tables only, so this is the one place that knows how the
contract lays out its grids. It adds nothing: what a classic sweep did not say, its table lacks.
"""

from collections.abc import Iterator
from typing import TypeVar

from sonde.schema import Grid, Hook, SweepSummary, Wire
from sonde.schema.table import Axis, SweepTable, Table, TableMetric

W = TypeVar("W", bound=Wire)


def table_of(summary: SweepSummary) -> SweepTable:
    """One table a hook, layers by positions; baselines and noise floor of the main metric."""
    metric: TableMetric = summary.metric
    axes = [
        Axis(name="layer", values=list(summary.layers), labels=[str(n) for n in summary.layers]),
        Axis(
            name="position",
            values=list(summary.positions),
            labels=[summary.tokens.prompt[position] for position in summary.positions],
        ),
    ]
    values: dict[Hook, dict[TableMetric, list[float | None]]] = {}
    for hook, measured, grid in _grids(summary):
        flat = [value for row in grid for value in row]
        values.setdefault(hook, {})[measured] = flat
    return SweepTable(
        tables=[Table(hook=hook, axes=axes, values=told) for hook, told in values.items()],
        metric=metric,
        corrupt={metric: summary.corrupt},
        clean=None if summary.clean is None else {metric: summary.clean},
        recovered_of="logprob",
        noise_floor={metric: summary.noise_floor},
        controls=summary.controls,
        skipped=summary.skipped,
        alignment=summary.alignment,
        notes={},
        warnings=summary.warnings,
        timing=summary.timing,
        tokens=summary.tokens,
    )


def _grids(summary: SweepSummary) -> Iterator[tuple[Hook, TableMetric, Grid]]:
    """The main metric's grids, then those of the others."""
    if summary.hook_grids is None:
        yield summary.hook, summary.metric, summary.grid
    else:
        for each in summary.hook_grids:
            yield each.hook, summary.metric, each.grid
    for further in summary.metric_grids or []:
        if further.metric != summary.metric:
            yield further.hook, further.metric, further.grid


def untagged(kind: type[W], told: W) -> W:
    """The same without the tag that the last event of a stream has.

    So that a result is equal however it travelled.
    """
    if type(told) is kind:
        return told
    fields = {name: getattr(told, name) for name in kind.model_fields}
    return kind.model_construct(**fields)
