"""What has come out of one prompt's cells so far, and the events made of it.

A cell is told when all variants of the prompt have it. Everything that a metric needs of its own
prompt (zero, one, noise) is here, so that one prompt among many is told as it is alone.
"""

from collections.abc import Sequence
from functools import partial

from sonde.engine.answers import Grades, Reading
from sonde.engine.setting import Setting
from sonde.engine.sites import Cells
from sonde.engine.trial import CellScore, Trial
from sonde.schema import Control, PromptTokens, Skipped, Timing
from sonde.schema.table import TableCell, TableMetric, TableStart, TableSummary

Cell = tuple[int, int]
"""Table and number of a cell."""
Baseline = dict[TableMetric, float | None]
"""An unpatched prompt in every metric; for `recovered`, in the units it is a share of."""


class PromptResults:
    """What has come out of a sweep so far, and the events made of it."""

    def __init__(
        self, setting: Setting, graded: Grades, cells: Cells, zeros: Sequence[list[float]]
    ) -> None:
        """`zeros` are what the variants of the unpatched prompt tell."""
        self.setting, self.cells, self.graded, self.zeros = setting, cells, graded, zeros
        setting.notes |= cells.notes
        self.metrics = setting.question.metrics
        self.values: list[dict[TableMetric, list[float | None]]] = [
            {metric: [None] * panel.size for metric in self.metrics} for panel in cells.panels
        ]
        self.tokens = PromptTokens(
            prompt=self._texts(setting.corrupt),
            clean=None if setting.clean is None else self._texts(setting.clean),
        )
        self.trials = self._trials(zeros)
        self._number = {id(trial): i for i, trial in enumerate(self.trials)}
        self._waiting: dict[Cell, dict[int, list[float]]] = {}
        self._left = cells.n_cells
        why = graded.why_no_recovery()
        if "recovered" in self.metrics and why is not None:
            setting.warnings.append(why)

    def _trials(self, zeros: Sequence[list[float]]) -> list[Trial]:
        """One for each variant of the prompt."""
        setting, question = self.setting, self.setting.question
        return [
            Trial(
                setting.model,
                [*setting.corrupt, *variant],
                question.readout(variant, len(setting.corrupt), setting.told()),
                zero,
                self.cells.panels,
                self.cells.controls,
                [partial(setting.backend.lease, name, setting.holder) for name in setting.leased],
            )
            for variant, zero in zip(question.variants, zeros, strict=True)
        ]

    def start(self) -> TableStart:
        """The first event."""
        return TableStart(
            tables=self.cells.tables,
            metric=self.metrics[0],
            cells=self.cells.n_cells,
            corrupt=self.corrupt(),
            clean=self.clean(),
            tokens=self.tokens,
        )

    @property
    def over(self) -> bool:
        """Whether all cells and all proofs are there."""
        return not self._left and all(trial.proven for trial in self.trials)

    def put(self, place: Cell, values: Sequence[float | None]) -> None:
        """Note a cell that is known without being run: a value of every metric."""
        panel, cell = place
        self._left -= 1
        for metric, value in zip(self.metrics, values, strict=True):
            self.values[panel][metric][cell] = value

    def take(self, score: CellScore) -> Cell | None:
        """Note what came of a row; the cell, where that was the last of its variants."""
        place = score.panel, score.cell
        parts = self._waiting.setdefault(place, {})
        parts[self._number[id(score.trial)]] = score.values
        if len(parts) < len(self.trials):
            return None
        del self._waiting[place]
        self._left -= 1
        self._keep(place, self.setting.question.read([parts[i] for i in range(len(parts))]))
        return place

    def _keep(self, place: Cell, reading: Reading) -> None:
        panel, cell = place
        nulls = []
        for metric in self.metrics:
            value = self.graded.of(metric, reading)
            self.values[panel][metric][cell] = value
            if value is None and self._fills(metric):
                nulls.append(metric)
        if nulls:
            self._note_skipped(place, f"{', '.join(nulls)}: not a finite number")

    def event(self, place: Cell) -> TableCell:
        """What is told of a finished cell."""
        panel, cell = place
        values = {metric: self.values[panel][metric][cell] for metric in self.metrics}
        nulls = [m for m in self.metrics if values[m] is None and self._fills(m)]
        error = f"{', '.join(nulls)}: not a finite number" if nulls else None
        at = list(self.cells.panels[panel].place(cell))
        return TableCell(table=panel, at=at, values=values, error=error)

    def _fills(self, metric: TableMetric) -> bool:
        """Whether a metric has numbers here at all; if not, a warning says why."""
        return metric != "recovered" or self.graded.why_no_recovery() is None

    def _note_skipped(self, place: Cell, reason: str) -> None:
        panel, cell = place
        table, at = self.cells.tables[panel], self.cells.panels[panel].place(cell)
        where = {axis.name: axis.values[i] for axis, i in zip(table.axes, at, strict=True)}
        layer, position = where.get("layer"), where.get("position", -1)
        self.setting.skipped.append(
            Skipped(
                hook=table.hook,
                layer=layer if isinstance(layer, int) else None,
                position=position if isinstance(position, int) else -1,
                reason=reason,
            )
        )

    def summary(self, timing: Timing) -> TableSummary:
        """The last event."""
        setting = self.setting
        tables = [
            table.model_copy(update={"values": values})
            for table, values in zip(self.cells.tables, self.values, strict=True)
        ]
        return TableSummary(
            tables=tables,
            metric=self.metrics[0],
            corrupt=self.corrupt(),
            clean=self.clean(),
            recovered_of="logit_diff" if setting.question.foils else "logprob",
            noise_floor=self.noise(),
            controls=self.controls(),
            skipped=setting.skipped,
            alignment=setting.alignment,
            notes=setting.notes,
            warnings=setting.warnings,
            timing=timing,
            tokens=self.tokens,
        )

    def controls(self) -> list[Control]:
        """Those that were run, and what came of them."""
        return [control for trial in self.trials for control in trial.judged]

    def corrupt(self) -> Baseline:
        """The zero in every metric; for `recovered`, what it is a share of."""
        return self._of(self.graded.corrupt)

    def clean(self) -> Baseline | None:
        """The one, where there is a clean prompt."""
        return None if self.graded.clean is None else self._of(self.graded.clean)

    def noise(self) -> Baseline:
        """How far the zero is from itself when it is run again among the cells."""
        told = [trial.noise for trial in self.trials]
        if any(each is None for each in told):
            return dict.fromkeys(self.metrics)
        again = self._of(self.setting.question.read([each for each in told if each is not None]))
        first = self.corrupt()
        out: Baseline = {}
        for metric in self.metrics:
            a, b = again[metric], first[metric]
            known = a is not None and b is not None
            out[metric] = abs(a - b) / self.graded.scale(metric) if known else None  # type: ignore[operator]
        return out

    def _of(self, reading: Reading) -> Baseline:
        return {
            metric: self.graded.base(reading)
            if metric == "recovered"
            else self.graded.of(metric, reading)
            for metric in self.metrics
        }

    def _texts(self, tokens: Sequence[int]) -> list[str]:
        return [self.setting.backend.detokenize([token]) for token in tokens]
