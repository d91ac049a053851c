"""A finished sweep, as people use it.

A thin view of the `SweepTable` that came out: arrays instead of flat lists, words instead of
indices, and ways out to a picture, a page or a file. It computes nothing about the model and
changes nothing: what it shows is what was measured. A classic summary is shown as the table that
`classic.table_of` makes of it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from sonde.errors import BadRequest, UnknownHook
from sonde.results import files, tables
from sonde.results.cells import ScoredSite, cell_at, site_of
from sonde.results.classic import table_of, untagged
from sonde.results.edges import Edge, SenderEffect, directly, edges_of, sender_effects
from sonde.results.patterns import Attend, PromptPatterns, of_both
from sonde.results.provenance import Provenance
from sonde.results.scale import Scale
from sonde.results.verified import verified
from sonde.results.views import FoundCell, TableView, Values
from sonde.schema import Control, Hook, Skipped, SweepSummary, Timing
from sonde.schema.table import AxisName, SweepTable, Table, TableMetric
from sonde.schema.verification import Verification

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sonde.results.circuit import Circuit, Evaluates
    from sonde.schema.circuit import CircuitRule

PathLike = str | os.PathLike[str]


@dataclass(frozen=True, repr=False)
class Sweep:
    """What writing at each site did to the behaviour.

    result.grids["post_block"]      # [layers, positions], NaN where there is no number
    result.values("kl_clean")       # the same of another metric
    result.axes["post_block"]       # what the dimensions are: {"layer": [...], "position": [...]}
    result.argmax                   # the strongest site of all hooks
    result.top(5, by="abs")         # farthest from the corrupt baseline, either way
    result.attention(9, 6)          # what that head attends to, in both prompts
    result.heatmap()                # matplotlib
    result.save("sweep.html")       # or .png .svg .json .csv .parquet
    """

    table: SweepTable
    provenance: Provenance
    summary: SweepSummary | None = None
    """What the classic route said, where the sweep was a classic one."""
    attend: Attend | None = field(default=None, compare=False)
    """What heads attend to in the model that it was run on, where that is in this process."""
    runs_in: Evaluates | None = field(default=None, compare=False)
    """That model, for circuits."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", untagged(SweepTable, self.table))

    @classmethod
    def of(
        cls, summary: SweepSummary, provenance: Provenance, attend: Attend | None = None
    ) -> Self:
        """The result of a classic sweep."""
        plain = untagged(SweepSummary, summary)
        return cls(table_of(plain), provenance, plain, attend)

    @property
    def stored(self) -> SweepTable:
        """What a file holds."""
        return self.table

    # What was swept.

    @property
    def hooks(self) -> list[Hook]:
        """The hooks, in the order asked for."""
        return list(self.grids)

    @cached_property
    def axes(self) -> dict[Hook, dict[AxisName, list[int | str]]]:
        """Per hook, what each dimension of its grid counts, in their order."""
        return {
            hook: {axis.name: axis.values for axis in table.axes}
            for hook, table in self._tables.items()
        }

    @property
    def layers(self) -> list[int]:
        """The layer of each row; none where layers are no axis."""
        return self._numbers("layer")

    @property
    def positions(self) -> list[int]:
        """The position, in the corrupt prompt, of each column; none where they are together."""
        return self._numbers("position")

    @cached_property
    def tokens(self) -> list[str]:
        """The text of the corrupt prompt's token under each column."""
        return [self.table.tokens.prompt[position] for position in self.positions]

    @property
    def clean_prompt(self) -> str | None:
        """The prompt the activations were taken from; None when they came from vectors."""
        clean = self.table.tokens.clean
        asked = self.provenance.asked("clean_prompt") or self.provenance.asked("clean")
        return asked or (None if clean is None else "".join(clean))

    @property
    def corrupt_prompt(self) -> str:
        """The prompt that was written to."""
        asked = self.provenance.asked("prompt") or self.provenance.asked("corrupt")
        return asked or "".join(self.table.tokens.prompt)

    # What came out.

    @property
    def metric(self) -> TableMetric:
        """What the grids measure."""
        return self.table.metric

    @property
    def metrics(self) -> list[TableMetric]:
        """All that was measured, the main metric first."""
        told = dict.fromkeys([self.metric, *(m for t in self.table.tables for m in t.values)])
        return list(told)

    @property
    def recovered_of(self) -> Literal["logit_diff", "logprob"]:
        """What `recovered` is a share of here."""
        return self.table.recovered_of

    @property
    def clean(self) -> float | None:
        """The metric of the clean prompt; for `recovered`, what it is a share of."""
        return None if self.table.clean is None else self.table.clean.get(self.metric)

    @property
    def corrupt(self) -> float | None:
        """The metric of the unpatched corrupt prompt; for `recovered`, as in `clean`."""
        return self.table.corrupt.get(self.metric)

    @property
    def baseline(self) -> float | None:
        """The value of a patch that does nothing, in the metric's own units."""
        return 0.0 if self.metric == "recovered" else self.corrupt

    @property
    def noise_floor(self) -> float | None:
        """How far the baseline is from itself when it is run among patched rows."""
        return self.table.noise_floor.get(self.metric)

    @cached_property
    def grids(self) -> dict[Hook, Values]:
        """Per hook, [layers, positions], or as `axes` says; NaN where there is no number."""
        return self.values(self.metric)

    @property
    def scores(self) -> dict[Hook, Values]:
        """The same as changes from the baseline: 0 where a cell does nothing."""
        return {hook: grid - (self.baseline or 0.0) for hook, grid in self.grids.items()}

    @property
    def verification(self) -> Verification | None:
        """Of scores to first order: what exact runs say of them. None where all cells were run."""
        return self.table.verification

    def values(self, metric: TableMetric) -> dict[Hook, Values]:
        """The same of any metric that was measured."""
        if metric not in self.metrics:
            raise BadRequest(
                f"metric {metric!r} was not measured here; there are {', '.join(self.metrics)}"
            )
        return {hook: TableView.of(table, metric).values for hook, table in self._tables.items()}

    @cached_property
    def metric_grids(self) -> dict[TableMetric, dict[Hook, Values]]:
        """The grids of all metrics, by metric and hook, where there are several."""
        return {m: self.values(m) for m in (self.metrics if len(self.metrics) > 1 else [])}

    @cached_property
    def views(self) -> list[TableView]:
        """What pictures show: every table of cells, in the main metric."""
        return [TableView.of(t, self.metric) for t in self.table.tables if t.kind == "cells"]

    @cached_property
    def doubts(self) -> list[NDArray[np.bool_]]:
        """Of every picture, which cells cannot be told from the baseline: they are hatched."""
        scale = Scale.of(self)
        return [
            np.array([[scale.is_noise(value) for value in row] for row in view.picture.tolist()])
            for view in self.views
        ]

    @property
    def doubt(self) -> str:
        """What a hatched cell is."""
        return "within the noise floor"

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What else a reader has to know of the numbers."""
        from sonde.results.ablation import comparisons

        told = verified(self.verification, self.table.tables)
        return comparisons(self.table) + directly(self) + told

    @property
    def beneath(self) -> dict[str, JsonValue] | None:
        """What a page shows of a cell beside its number; see `PairSweep`."""
        return None

    @cached_property
    def largest(self) -> FoundCell | None:
        """The cell that pictures mark: the largest value, by the rule of `argmax`."""
        return next(iter(self.found(1)), None)

    @cached_property
    def argmax(self) -> ScoredSite | None:
        """The largest value of all hooks; of equal ones the first, hook by hook, row by row."""
        return next(iter(self.top(1)), None)

    @cached_property
    def argmin(self) -> ScoredSite | None:
        """The smallest value of all hooks, by the same rule."""
        return next(iter(map(site_of, self._first(self._values, 1))), None)

    def top(self, k: int = 5, *, by: Literal["value", "abs"] = "value") -> list[ScoredSite]:
        """The k largest values; with `by="abs"` the k farthest from the baseline, either way."""
        return [site_of(cell) for cell in self.found(k, by=by)]

    def found(self, k: int = 5, *, by: Literal["value", "abs"] = "value") -> list[FoundCell]:
        """The same cells as `top`, with their place on every axis, whatever the axes are."""
        if by == "abs":
            return self._first(-abs(self._values - (self.baseline or 0.0)), k)
        return self._first(-self._values, k)

    def edges(self, k: int | None = None) -> list[Edge]:
        """Of a sweep over edges the k strongest, either way; without k, all of them."""
        return edges_of(self)[:k]

    def senders(self) -> list[SenderEffect]:
        """Of receivers `logits` and `total`: how much of what a sender does it does directly."""
        return sender_effects(self)

    def circuit(
        self,
        *,
        edges: int | None = None,
        nodes: int | None = None,
        rule: CircuitRule = "absolute",
        model: Evaluates | None = None,
    ) -> Circuit:
        """The circuit of the strongest edges, or of the strongest nodes and all between them."""
        from sonde.results.circuit_of import circuit_of

        return circuit_of(self, edges, nodes, rule, model)

    @property
    def controls(self) -> list[Control]:
        """Cells that change nothing by construction, and what came out of them."""
        return self.table.controls

    @property
    def skipped(self) -> list[Skipped]:
        """Positions and cells without a number, and why."""
        return self.table.skipped

    @property
    def warnings(self) -> list[str]:
        """What a reader has to know before believing the numbers."""
        return self.table.warnings

    @property
    def timing(self) -> Timing:
        """Where the seconds went."""
        return self.table.timing

    def attention(self, layer: int, head: int) -> PromptPatterns:
        """What a head attends to in both prompts, from the model that the sweep was run on."""
        return of_both(self.attend, self.provenance, layer, head)

    # Ways out.

    @overload
    def heatmap(self, hook: Hook | None = None, ax: None = None) -> Figure: ...
    @overload
    def heatmap(self, hook: Hook | None = None, *, ax: Axes) -> Axes: ...
    def heatmap(self, hook: Hook | None = None, ax: Axes | None = None) -> Figure | Axes:
        """Draw every hook side by side, or one hook; on `ax` one hook, the first unless named."""
        from sonde.results import plot

        if hook is not None and hook not in self.grids:
            raise UnknownHook(hook, self.hooks)
        if ax is None:
            return plot.shown(self, hook)
        named = [n for n, view in enumerate(self.views) if hook in (None, view.hook)]
        return plot.panel(ax, self, named[0])

    def to_json(self, path: PathLike | None = None) -> str:
        """Everything, to the last bit, and written when `path` is given; see `from_json`."""
        return self._written(tables.to_json(self), path)

    @classmethod
    def from_json(cls, source: str | Path) -> Self:
        """Read back what `to_json` made: its text, or, given a `Path`, the file it was saved to."""
        stored = tables.from_json(source)
        if isinstance(stored, tables.StoredSweep):
            return cls.of(stored.summary, stored.provenance)
        from sonde.results.pairs import result_of

        found: Self = result_of(stored.table, stored.provenance)  # type: ignore[assignment]
        return found

    def to_csv(self, path: PathLike | None = None) -> str:
        """One line a cell: hook, its place on each axis, metric, value (empty for a null)."""
        return self._written(tables.to_csv(self), path)

    def to_html(self, path: PathLike | None = None) -> str:
        """One page that needs nothing else: no network, no server, no library."""
        from sonde.results.page import page

        return self._written(page(self), path)

    def save(self, path: PathLike) -> Path:
        """Write what the suffix names, whole or not at all: .png .svg .html .json .csv .parquet."""
        return files.write(path, self.encoded(files.suffix_of(path).removeprefix(".")))

    def encoded(self, format: str) -> bytes:
        """The bytes of a file: png, svg, html, json, csv or parquet."""
        if format == "tex":
            raise BadRequest(
                "a table for papers has statistics, and these are of sweeps over pairs"
            )
        if format in ("png", "svg"):
            from sonde.results import plot

            return plot.image(self, format)
        if format == "parquet":
            from sonde.results.parquet import to_parquet

            return to_parquet(self)
        return {"html": self.to_html, "json": self.to_json, "csv": self.to_csv}[format]().encode()

    def _repr_html_(self) -> str:
        from sonde.results.page import fragment

        return fragment(self)

    def __repr__(self) -> str:
        from sonde.results import wording

        return f"<Sweep {wording.one_line(self)}>"

    def __str__(self) -> str:
        from sonde.results import wording

        return wording.short_table(self)

    @cached_property
    def _tables(self) -> dict[Hook, Table]:
        """The first table of cells of each hook."""
        out: dict[Hook, Table] = {}
        for table in self.table.tables:
            if table.kind == "cells":
                out.setdefault(table.hook, table)
        return out

    def _numbers(self, name: AxisName) -> list[int]:
        """The values of an axis of the first table."""
        axes = next(iter(self.axes.values()), {})
        return [value for value in axes.get(name, []) if isinstance(value, int)]

    @cached_property
    def _values(self) -> Values:
        """All pictures' numbers, one after the other."""
        return np.concatenate([view.values.ravel() for view in self.views])

    def _first(self, keys: Values, k: int) -> list[FoundCell]:
        """The k cells with the smallest keys, equal ones in their order, without those of NaN."""
        order = np.argsort(keys, kind="stable")[: max(k, 0)]
        return [cell_at(self.views, int(index)) for index in order if not np.isnan(keys[index])]

    @staticmethod
    def _written(text: str, path: PathLike | None) -> str:
        if path is not None:
            files.write(path, text.encode())
        return text
