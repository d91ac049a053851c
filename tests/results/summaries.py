"""Small results made by hand, so that every number in a test can be seen in the test."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from sonde.results import Provenance, Sweep
from sonde.schema import (
    Control,
    Grid,
    Hook,
    HookGrid,
    PromptTokens,
    SpecialToken,
    SpecialTokens,
    SweepSummary,
    Timing,
)
from sonde.schema.table import Axis, AxisName, SweepTable, Table, TableMetric

WORDS = ["<s>", "The", " Colos", "seum", " is", " in", " the", " city", " of"]
CREATED = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)

SPECIAL = SpecialTokens(before=[SpecialToken(id=1, text="<s>")], after=[])


def provenance(**request: Any) -> Provenance:
    return Provenance(
        model="tiny/llama",
        architecture="LlamaForCausalLM",
        weights="sha256:0123abcd",
        special_tokens=SPECIAL,
        dtype="float32",
        device="cpu",
        n_layers=4,
        versions={"sonde": "0.1.0", "torch": "2.13.0", "transformers": "5.19.0"},
        created=CREATED,
        request={
            "prompt": "The Colosseum is in the city of",
            "clean_prompt": "The Eiffel Tower is in the city of",
            "answer_token": " Paris",
            **request,
        },
    )


def control(difference: float = 0.0, *, passed: bool = True) -> Control:
    return Control(
        kind="self_patch",
        hook="post_block",
        layer=1,
        position=2,
        difference=difference,
        tolerance=1e-4,
        passed=passed,
    )


def timing(cells: int, computed: int | None = None) -> Timing:
    return Timing(
        baseline_seconds=0.05,
        capture_seconds=0.06,
        cells_seconds=0.6,
        total_seconds=0.71,
        cells=cells,
        computed_cells=cells if computed is None else computed,
        cells_per_second=cells / 0.71,
    )


def grid_of(layers: int, positions: int, *, phase: float = 0.0) -> Grid:
    """A bump over the corrupt baseline of -5, at a place that `phase` moves."""
    top = (layers * (0.4 + phase), min(3.0, positions - 1))
    return [
        [
            -5.0 + 4.5 / (1 + (row - top[0]) ** 2 / 9 + (column - top[1]) ** 2) - 0.2 * phase
            for column in range(positions)
        ]
        for row in range(layers)
    ]


def summary(grids: dict[Hook, Grid] | None = None, **changes: Any) -> SweepSummary:
    """A finished sweep of the given grids; by default one hook, two layers, three positions."""
    grids = grids or {"post_block": [[-5.0, -4.0, None], [-1.0, -5.5, -5.0]]}
    hooks: Sequence[Hook] = list(grids)
    first = grids[hooks[0]]
    rows, columns = len(first), len(first[0])
    fields: dict[str, Any] = {
        "layers": list(range(rows)),
        "positions": list(range(columns)),
        "hook": hooks[0],
        "metric": "logprob",
        "grid": first,
        "clean": -0.5,
        "corrupt": -5.0,
        "argmax": None,
        "argmin": None,
        "skipped": [],
        "alignment": None,
        "noise_floor": 0.0,
        "auto_captured": True,
        "captured_source_run": None,
        "hook_grids": [
            HookGrid(hook=hook, grid=grid, argmax=None, argmin=None) for hook, grid in grids.items()
        ],
        "metric_grids": None,
        "controls": [control(), control()],
        "warnings": [],
        "timing": timing(rows * columns * len(grids)),
        "tokens": PromptTokens(prompt=(WORDS * (columns // len(WORDS) + 1))[:columns]),
    }
    return SweepSummary(**(fields | changes))


def sweep(grids: dict[Hook, Grid] | None = None, **changes: Any) -> Sweep:
    return Sweep.of(summary(grids, **changes), provenance())


def three_hooks(layers: int = 30, positions: int = 9, **changes: Any) -> Sweep:
    """The usual picture: three hooks side by side."""
    grids: dict[Hook, Grid] = {
        "post_block": grid_of(layers, positions),
        "post_attn": grid_of(layers, positions, phase=0.15),
        "mlp_out": grid_of(layers, positions, phase=0.3),
    }
    return sweep(grids, **changes)


def axis(name: AxisName, *values: int | str, labels: Sequence[str] | None = None) -> Axis:
    """Labelled by its values, unless told otherwise."""
    return Axis(name=name, values=list(values), labels=list(labels or map(str, values)))


def table(
    *axes: Axis, hook: Hook = "post_block", metrics: Sequence[TableMetric] = ("logprob",)
) -> Table:
    """Cells that count up from -5.0; of further metrics from 0."""
    n = int(np.prod([len(each.values) for each in axes]))
    told: dict[TableMetric, list[float | None]] = {
        metric: [-5.0 * (metric == metrics[0]) + 0.5 * cell for cell in range(n)]
        for metric in metrics
    }
    return Table(hook=hook, axes=list(axes), values=told)


def general(*tables: Table, asked: dict[str, Any] | None = None, **changes: Any) -> Sweep:
    """A finished general sweep of the given tables."""
    metric = changes.get("metric", next(iter(tables[0].values)))
    fields: dict[str, Any] = {
        "tables": list(tables),
        "metric": metric,
        "corrupt": {metric: -5.0},
        "clean": {metric: -0.5},
        "recovered_of": "logprob",
        "noise_floor": {metric: 0.0},
        "controls": [control()],
        "skipped": [],
        "alignment": None,
        "notes": {},
        "warnings": [],
        "timing": timing(6),
        "tokens": PromptTokens(prompt=WORDS),
    }
    request: dict[str, Any] = {"corrupt": "The Colosseum", "clean": "The Tower", "answer": " Paris"}
    source = provenance().model_copy(update={"request": request | (asked or {})})
    return Sweep(SweepTable(**(fields | changes)), source)


LAYERS = axis("layer", 0, 3, 6)
TOKENS = axis("position", 1, 2, labels=["The", " Colos"])
SHAPES: dict[str, Sweep] = {
    "one axis": general(table(LAYERS), asked={"positions": "together"}),
    "two axes": general(table(LAYERS, TOKENS), table(LAYERS, TOKENS, hook="mlp_out")),
    "three axes": general(table(LAYERS, axis("feature", 7, 9), TOKENS)),
    "words": general(table(axis("feature", 7, 9, labels=["7 <b>cities\x1b[31m", "9"]))),
    "unlike axes": general(table(LAYERS), table(LAYERS, TOKENS, hook="mlp_out")),
    "several metrics": general(table(LAYERS, TOKENS, metrics=("rank", "kl_clean"))),
    "no axis": general(table()),
}
"""General sweeps of every shape that has to be drawn and written."""


def with_tokens(*tokens: str, **changes: Any) -> Sweep:
    """Two layers over exactly these tokens."""
    grid: Grid = [[-5.0 + 0.1 * column for column in range(len(tokens))], [-5.0] * len(tokens)]
    return sweep({"post_block": grid}, tokens=PromptTokens(prompt=list(tokens)), **changes)


WEIRD = (
    "😀",
    "日本",
    "שלום",
    "\n",
    "<script>alert(1)</script>",
    "\x1b[31m",
    "\u202eevil",
    "$\\frac{$",
    "e\u0301",
    "",
)
"""An emoji, wide and right-to-left letters, a newline, markup, an escape sequence, a bidirectional
override, broken mathtext, a combining mark, and a special token's empty text."""
