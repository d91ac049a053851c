"""What has come out of a sweep so far, and the events and summary made of it.

It grades and files, and computes nothing of the model. A value that is not finite becomes null with
a reason here, before anything is sent: no later place has to look for NaN.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sonde.engine.metrics import Grading, extreme
from sonde.engine.plan import CheckedRequest
from sonde.schema import (
    Alignment,
    Cell,
    Control,
    Grid,
    Hook,
    HookGrid,
    Metric,
    MetricGrid,
    PromptTokens,
    Skipped,
    SourceRun,
    Start,
    Summary,
    Timing,
)


@dataclass
class Tally:
    """Axes, baselines and the grids as they fill."""

    plan: CheckedRequest
    positions: list[int]
    grading: Grading
    baseline: list[float]
    clean: list[float] | None
    """Graded log-probabilities of the clean prompt, when this sweep ran it."""
    captured: SourceRun | None
    alignment: Alignment | None
    tokens: PromptTokens
    warnings: list[str]
    skipped: list[Skipped]
    controls: list[Control] = field(default_factory=list)
    noise: list[float] | None = None
    grids: dict[tuple[Metric, Hook], Grid] = field(init=False)

    def __post_init__(self) -> None:
        """Grids start empty; a cell that was never filled stays null."""
        plan = self.plan
        self.grids = {
            (metric, hook): [[None] * len(self.positions) for _ in plan.layers]
            for metric in plan.metrics
            for hook in plan.hooks
        }
        if "recovered" in plan.metrics and (why := self.grading.why_no_recovery()):
            self.warnings.append(why)

    @property
    def n_cells(self) -> int:
        """Cells of the grid, all hooks together."""
        return len(self.plan.hooks) * len(self.plan.layers) * len(self.positions)

    def start(self) -> Start:
        """The first event."""
        plan = self.plan
        return Start(
            layers=list(plan.layers),
            positions=self.positions,
            hook=plan.hooks[0],
            metric=plan.request.metric,
            auto_captured=self.captured is not None,
            captured_source_run=self.captured.run if self.captured else None,
            hooks=None if plan.request.hooks is None else list(plan.hooks),
            cells=self.n_cells,
            tokens=self.tokens,
            corrupt=self._baseline_value(plan.request.metric, self.baseline),
        )

    def cell(self, hook: Hook, row: int, column: int, logprobs: Sequence[float]) -> Cell:
        """Grade one cell, keep it, and make its event."""
        plan = self.plan
        values = {metric: self.grading.value(metric, logprobs) for metric in plan.metrics}
        for metric, value in values.items():
            self.grids[metric, hook][row][column] = value
        layer, position = plan.layers[row], self.positions[column]
        value, error = values[plan.request.metric], None
        if value is None:
            error = self._why_null(plan.request.metric)
            if self._fills(plan.request.metric):  # otherwise one warning says it for all cells
                where = Skipped(hook=hook, layer=layer, position=position, reason=error)
                self.skipped.append(where)
        elif nulls := [m for m in plan.metrics if values[m] is None and self._fills(m)]:
            reason = f"{', '.join(nulls)}: {self._why_null(nulls[0])}"
            self.skipped.append(Skipped(hook=hook, layer=layer, position=position, reason=reason))
        return Cell(
            hook=hook,
            layer=layer,
            position=position,
            value=value,
            values=None if plan.request.metrics is None else values,
            error=error,
        )

    def _fills(self, metric: Metric) -> bool:
        """Whether a metric has numbers here at all; if not, a warning says why."""
        return metric != "recovered" or self.grading.why_no_recovery() is None

    def _why_null(self, metric: Metric) -> str:
        if not self._fills(metric):
            return self.grading.why_no_recovery() or ""
        return "the log-probability is not a finite number"

    def summary(self, timing: Timing) -> Summary:
        """The last event."""
        plan, metric = self.plan, self.plan.request.metric
        first = self._grid(metric, plan.hooks[0])
        return Summary(
            layers=list(plan.layers),
            positions=self.positions,
            hook=first.hook,
            metric=metric,
            grid=first.grid,
            clean=self._clean(metric),
            corrupt=self._baseline_value(metric, self.baseline),
            argmax=first.argmax,
            argmin=first.argmin,
            skipped=self.skipped,
            alignment=self.alignment,
            noise_floor=self._noise_floor(metric),
            auto_captured=self.captured is not None,
            captured_source_run=self.captured.run if self.captured else None,
            hook_grids=self._hook_grids(metric),
            metric_grids=self._metric_grids(),
            controls=self.controls,
            warnings=self.warnings,
            timing=timing,
            tokens=self.tokens,
        )

    def _grid(self, metric: Metric, hook: Hook) -> HookGrid:
        grid, layers = self.grids[metric, hook], self.plan.layers
        return HookGrid(
            hook=hook,
            grid=grid,
            argmax=extreme(grid, layers, self.positions, 1),
            argmin=extreme(grid, layers, self.positions, -1),
        )

    def _hook_grids(self, metric: Metric) -> list[HookGrid] | None:
        if self.plan.request.hooks is None:
            return None
        return [self._grid(metric, hook) for hook in self.plan.hooks]

    def _metric_grids(self) -> list[MetricGrid] | None:
        if self.plan.request.metrics is None:
            return None
        return [
            MetricGrid(metric=metric, **self._grid(metric, hook).model_dump())
            for metric in self.plan.metrics
            for hook in self.plan.hooks
        ]

    def _baseline_value(self, metric: Metric, logprobs: Sequence[float]) -> float | None:
        """A baseline in the units the contract gives it: log-probabilities under 'recovered'."""
        return self.grading.value("logprob" if metric == "recovered" else metric, logprobs)

    def _clean(self, metric: Metric) -> float | None:
        if self.clean is not None:
            return self._baseline_value(metric, self.clean)
        return self.plan.request.clean_baseline

    def _noise_floor(self, metric: Metric) -> float | None:
        if self.noise is None:
            return None
        again = self._baseline_value(metric, self.noise)
        first = self._baseline_value(metric, self.baseline)
        if again is None or first is None:
            return None
        return abs(again - first) / self.grading.scale(metric)
