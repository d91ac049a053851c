"""A sweep over features made by hand, so that every number in a test can be seen in the test."""

from collections.abc import Mapping
from typing import Any

from sonde.schema import Control, PromptTokens, Timing
from sonde.schema.feature import Feature
from sonde.schema.table import Axis, SweepTable, Table

BASELINE = 7.0
CARD = Feature(feature=1740, rate=0.1, promoted=[" malt", "<i>"], suppressed=[], snippets=[])
NOTES = {
    "model": "tiny",
    "weights": "abc",
    "dictionary": "layer_15",
    "dictionary_sha256": "0123456789abcdef0123",
    "layer": "15",
    "answer": "_",
    "foil": "-",
    "silent": "88",
}
FEATURES = Axis(name="feature", values=[9, 1740], labels=["15:9", "15:1740"])
PLACES = Axis(name="position", values=[1, 2, "everywhere"], labels=["a", "b", "everywhere"])
DRAWS = Axis(name="draw", values=[0, 1], labels=["1", "2"])


def table(
    kind: Any, axes: list[Axis], changes: list[float | None], active: list[float] | None = None
) -> Table:
    """A table of these changes from the baseline."""
    values = [None if change is None else BASELINE + change for change in changes]
    return Table(
        kind=kind,
        hook="post_block",
        axes=axes,
        values={"logit_diff": values},
        activations=active,
    )


REMOVED = table(
    "cells",
    [FEATURES, PLACES],
    [None, 0.25, 0.25, -0.5, -0.25, -0.75],
    [0.0, 1.5, 1.5, 3.0, 2.0, 3.0],
)
RANDOM = table("random_direction", [FEATURES, DRAWS], [-0.25, 0.5, -0.5, 1.0])


def feature_sweep(
    tables: list[Table] | None = None, notes: Mapping[str, str] = NOTES
) -> SweepTable:
    """Two features, of which the second has the larger effect, and one that is silent."""
    return SweepTable(
        tables=[REMOVED, RANDOM] if tables is None else tables,
        metric="logit_diff",
        corrupt={"logit_diff": BASELINE, "logprob": -0.0013},
        clean=None,
        recovered_of="logit_diff",
        noise_floor={"logit_diff": 0.0},
        controls=[_control("alpha_zero", 0.5), _control("self_patch", 1.1e-5)],
        skipped=[],
        alignment=None,
        notes=dict(notes),
        warnings=[],
        timing=Timing(
            baseline_seconds=0.0,
            capture_seconds=0.0,
            cells_seconds=0.0,
            total_seconds=0.0,
            cells=9,
            computed_cells=9,
            cells_per_second=1.0,
        ),
        tokens=PromptTokens(prompt=["The", " brush\x1b[31m", " is<b>"]),
    )


def _control(kind: Any, difference: float) -> Control:
    return Control(
        kind=kind,
        hook="post_block",
        layer=15,
        position=1,
        difference=difference,
        tolerance=1.0,
        passed=True,
    )
