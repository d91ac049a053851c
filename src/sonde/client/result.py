"""What a study gives back: a source run it captured, and the grid of one hook.

`SweepResult` has the names of the patching client that people know, on both of its paths, so that a
study moves over by changing an import. Everything else a Sonde server says about a sweep is in its
`sweep`: pages, pictures, files, all hooks, controls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sonde.results import Sweep
from sonde.results.colors import colormap
from sonde.schema import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass
class CleanRun:
    """A source run on the server, and how the clean prompt answers without a patch."""

    run_id: str
    num_prompt_tokens: int
    hook: str
    answer_token: str | None = None
    clean_logprob: float | None = None
    clean_logit_diff: float | None = None
    prompt: str | None = None

    def baseline(self, metric: str) -> float | None:
        """The clean prompt's value; for `recovered`, its answer's log-probability."""
        return self.clean_logit_diff if metric == "logit_diff" else self.clean_logprob


@dataclass
class SweepResult:
    """One hook's grid: `grid[i][j]` is the metric with `layers[i]` patched at `positions[j]`."""

    layers: list[int]
    positions: list[int]
    hook: str
    metric_name: str
    grid: Grid
    clean: float | None = None
    corrupt: float | None = None
    notes: list[str] = field(default_factory=list)
    """What a reader has to know: what was skipped and why, alignment, warnings."""
    auto_captured: bool = False
    captured_source_run: str | None = None
    noise_floor: float | None = None
    sweep_id: str | None = field(default=None, compare=False)
    """The sweep in the server's history, where it has one."""
    sweep: Sweep | None = field(default=None, repr=False, compare=False)
    """The whole sweep, all hooks; None when the cells were asked one by one, or when the server is
    not Sonde's."""

    def to_numpy(self) -> NDArray[np.float64]:
        """[layers, positions], NaN where there is no number."""
        shape = len(self.layers), len(self.positions)
        return np.array(self.grid, dtype=np.float64).reshape(shape)

    def argmax_cell(self) -> tuple[int, int] | None:
        """(layer, position) of the largest value; of equal ones the first, row by row."""
        return next(((layer, position) for layer, position, _ in self.top(1)), None)

    def top(self, k: int = 5) -> list[tuple[int, int, float]]:
        """(layer, position, value) of the k largest values, the largest first."""
        cells = [
            (layer, position, value)
            for layer, row in zip(self.layers, self.grid, strict=True)
            for position, value in zip(self.positions, row, strict=True)
            if value is not None
        ]
        return sorted(cells, key=lambda cell: -cell[2])[: max(k, 0)]

    def heatmap(self, ax: Axes | None = None, **imshow: Any) -> Axes:
        """Draw the grid, layers upwards; `imshow` goes to matplotlib's function of that name."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(layout="constrained")[1]
        values = np.ma.masked_invalid(self.to_numpy())
        drawn = ax.imshow(values, **(self._colors() | {"origin": "lower"} | imshow))
        ax.figure.colorbar(drawn, ax=ax, label=self.metric_name)
        ax.set_xticks(range(len(self.positions)), [str(each) for each in self.positions])
        ax.set_yticks(range(len(self.layers)), [str(each) for each in self.layers])
        ax.set_xlabel("position")
        ax.set_ylabel("layer")
        ax.set_title(self.hook)
        return ax

    def _colors(self) -> dict[str, Any]:
        """Symmetric about the corrupt baseline, as far as there is one."""
        look: dict[str, Any] = {"aspect": "auto", "interpolation": "nearest"}
        baseline = 0.0 if self.metric_name == "recovered" else self.corrupt
        values = [value for row in self.grid for value in row if value is not None]
        if baseline is None or not values:
            return look | {"cmap": colormap("sequential")}
        reach = max(abs(value - baseline) for value in values) or 1.0
        limits = {"vmin": baseline - reach, "vmax": baseline + reach}
        return look | limits | {"cmap": colormap("diverging")}


def results_of(
    summary: Mapping[str, Any], *, sweep_id: str | None = None, sweep: Sweep | None = None
) -> dict[str, SweepResult]:
    """A server's summary as one result per hook."""
    grids = summary.get("hook_grids") or [{"hook": summary["hook"], "grid": summary["grid"]}]
    return {
        each["hook"]: SweepResult(
            layers=list(summary["layers"]),
            positions=list(summary["positions"]),
            hook=each["hook"],
            metric_name=summary["metric"],
            grid=[list(row) for row in each["grid"]],
            clean=summary["clean"],
            corrupt=summary["corrupt"],
            notes=notes_of(summary),
            auto_captured=summary["auto_captured"],
            captured_source_run=summary["captured_source_run"],
            noise_floor=summary["noise_floor"],
            sweep_id=sweep_id,
            sweep=sweep,
        )
        for each in grids
    }


def notes_of(summary: Mapping[str, Any]) -> list[str]:
    """What was left out of the grid, how the prompts were aligned, and what to beware of."""
    names = ("skipped", "alignment", "warnings")
    return [f"{name}={summary[name]}" for name in names if summary.get(name)]
