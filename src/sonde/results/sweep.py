"""A finished sweep, as people use it.

A thin view of the `SweepSummary` that came over the wire: arrays instead of nested lists, words
instead of indices, and ways out to a picture, a page or a file. It computes nothing about the model
and changes nothing: what it shows is what was measured.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

from sonde.errors import UnknownHook
from sonde.results import files, tables
from sonde.results.provenance import Provenance
from sonde.schema import Control, Grid, Hook, Metric, SweepSummary, Timing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Values = NDArray[np.float64]
PathLike = str | os.PathLike[str]


class ScoredSite(NamedTuple):
    """One cell: where, what came out, and the text of the token there."""

    hook: Hook
    layer: int
    position: int
    value: float
    token: str


@dataclass(frozen=True, repr=False)
class Sweep:
    """What patching each site did to the behaviour.

    result.grids["post_block"]      # [layers, positions], NaN where there is no number
    result.argmax                   # the strongest site of all hooks
    result.top(5, by="abs")         # farthest from the corrupt baseline, either way
    result.heatmap()                # matplotlib
    result.save("sweep.html")       # or .png .svg .json .csv .parquet
    """

    summary: SweepSummary
    provenance: Provenance

    def __post_init__(self) -> None:
        # The last event of a stream is a `Summary`: the same words with a tag. The tag is dropped,
        # so that a result is equal however it travelled.
        if type(self.summary) is not SweepSummary:
            fields = {name: getattr(self.summary, name) for name in SweepSummary.model_fields}
            object.__setattr__(self, "summary", SweepSummary.model_construct(**fields))

    # What was swept.

    @property
    def hooks(self) -> list[Hook]:
        """The hooks, in the order asked for."""
        return list(self.grids)

    @property
    def layers(self) -> list[int]:
        """The layer of each row."""
        return self.summary.layers

    @property
    def positions(self) -> list[int]:
        """The position, in the corrupt prompt, of each column."""
        return self.summary.positions

    @cached_property
    def tokens(self) -> list[str]:
        """The text of the corrupt prompt's token under each column."""
        return [self.summary.tokens.prompt[position] for position in self.positions]

    @property
    def clean_prompt(self) -> str | None:
        """The prompt the activations were taken from; None when they came from vectors."""
        clean = self.summary.tokens.clean
        return self.provenance.asked("clean_prompt") or (None if clean is None else "".join(clean))

    @property
    def corrupt_prompt(self) -> str:
        """The prompt that was patched."""
        return self.provenance.asked("prompt") or "".join(self.summary.tokens.prompt)

    # What came out.

    @property
    def metric(self) -> Metric:
        """What the values measure."""
        return self.summary.metric

    @property
    def clean(self) -> float | None:
        """The metric of the clean prompt; for `recovered`, its answer's log-probability."""
        return self.summary.clean

    @property
    def corrupt(self) -> float | None:
        """The metric of the unpatched corrupt prompt; for `recovered`, as in `clean`."""
        return self.summary.corrupt

    @property
    def baseline(self) -> float | None:
        """The value of a patch that does nothing, in the metric's own units."""
        return 0.0 if self.metric == "recovered" else self.corrupt

    @property
    def noise_floor(self) -> float | None:
        """How far the baseline is from itself when it is run among patched rows."""
        return self.summary.noise_floor

    @cached_property
    def grids(self) -> dict[Hook, Values]:
        """Per hook, [layers, positions]; NaN where there is no number."""
        if self.summary.hook_grids is None:
            return {self.summary.hook: self._array(self.summary.grid)}
        return {each.hook: self._array(each.grid) for each in self.summary.hook_grids}

    @cached_property
    def metric_grids(self) -> dict[Metric, dict[Hook, Values]]:
        """The grids of the further metrics, by metric and hook."""
        grids: dict[Metric, dict[Hook, Values]] = {}
        for each in self.summary.metric_grids or []:
            grids.setdefault(each.metric, {})[each.hook] = self._array(each.grid)
        return grids

    @cached_property
    def argmax(self) -> ScoredSite | None:
        """The largest value of all hooks; of equal ones the first, hook by hook, row by row."""
        return next(iter(self.top(1)), None)

    @cached_property
    def argmin(self) -> ScoredSite | None:
        """The smallest value of all hooks, by the same rule."""
        return next(iter(self._first(self._values, 1)), None)

    def top(self, k: int = 5, *, by: Literal["value", "abs"] = "value") -> list[ScoredSite]:
        """The k largest values; with `by="abs"` the k farthest from the baseline, either way."""
        if by == "abs":
            return self._first(-abs(self._values - (self.baseline or 0.0)), k)
        return self._first(-self._values, k)

    @property
    def controls(self) -> list[Control]:
        """Cells that change nothing by construction, and what came out of them."""
        return self.summary.controls

    @property
    def warnings(self) -> list[str]:
        """What a reader has to know before believing the numbers."""
        return self.summary.warnings

    @property
    def timing(self) -> Timing:
        """Where the seconds went."""
        return self.summary.timing

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
            return plot.shown(self, self.hooks if hook is None else [hook])
        return plot.panel(ax, self, hook or self.hooks[0])

    def to_json(self, path: PathLike | None = None) -> str:
        """Everything, to the last bit, and written when `path` is given; see `from_json`."""
        return self._written(tables.to_json(self), path)

    @classmethod
    def from_json(cls, source: str | Path) -> Self:
        """Read back what `to_json` made: its text, or, given a `Path`, the file it was saved to."""
        stored = tables.from_json(source)
        return cls(stored.summary, stored.provenance)

    def to_csv(self, path: PathLike | None = None) -> str:
        """One line a cell: hook, layer, position, token, metric, value (empty for a null)."""
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
    def _values(self) -> Values:
        """All hooks' grids, one after the other."""
        return np.concatenate([grid.ravel() for grid in self.grids.values()])

    def _first(self, keys: Values, k: int) -> list[ScoredSite]:
        """The k sites with the smallest keys, equal ones in grid order, without those of NaN."""
        order = np.argsort(keys, kind="stable")[: max(k, 0)]
        return [self._site(int(index)) for index in order if not np.isnan(keys[index])]

    def _site(self, index: int) -> ScoredSite:
        hook, place = divmod(index, len(self.layers) * len(self.positions))
        row, column = divmod(place, len(self.positions))
        value = float(self._values[index])
        token, position = self.tokens[column], self.positions[column]
        return ScoredSite(self.hooks[hook], self.layers[row], position, value, token)

    def _array(self, grid: Grid) -> Values:
        array = np.array(grid, dtype=np.float64).reshape(len(self.layers), len(self.positions))
        array.flags.writeable = False
        return array

    @staticmethod
    def _written(text: str, path: PathLike | None) -> str:
        if path is not None:
            files.write(path, text.encode())
        return text
