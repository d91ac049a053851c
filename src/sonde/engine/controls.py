"""Cells that change nothing by construction, computed like any other.

A patch that silently did nothing looks exactly like a patch with no effect, and a computation that
went wrong looks like an effect. So every sweep carries, at each hook, a patch with alpha 0 and a
patch of the corrupt run with its own activation. Both must give the baseline. They are never
answered by the shortcut for identical sources: that would prove nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sonde.backends.base import FromRun, Row, Write
from sonde.errors import ControlFailed
from sonde.schema import HOOK_TABLE, Control, Hook, ModelDescription

TOLERANCE = {"float32": 1e-3, "float16": 0.05, "bfloat16": 0.5}
"""In log-probability, on machines where a row's bits depend on the batch; 0 where they do not."""


@dataclass(frozen=True)
class ControlRow:
    """A control cell and the row that computes it."""

    kind: Literal["alpha_zero", "self_patch"]
    write: Write

    @property
    def row(self) -> Row:
        """The row, never answered by a shortcut."""
        return Row((self.write,), computed=True)


def control_position(
    hook: Hook, layer: int, positions: Sequence[int], model: ModelDescription, n_tokens: int
) -> int:
    """A position of the sweep whose patch at this site can reach the answer."""
    position = positions[len(positions) // 2]
    seen = layer < model.n_layers - 1 or HOOK_TABLE[hook].enters == 0
    return position if seen else n_tokens - 1


def control_rows(writes: Sequence[Write], own_run: str | None) -> list[ControlRow]:
    """Both controls for each write; `own_run` holds the corrupt prompt's own activations."""
    rows = []
    for write in writes:
        rows.append(ControlRow("alpha_zero", replace(write, alpha=0.0)))
        if own_run is not None:
            own = FromRun(own_run, write.site.positions)
            same = replace(write, source=own, alpha=1.0, mask=None, how="set")
            rows.append(ControlRow("self_patch", same))
    return rows


def judge(
    control: ControlRow,
    logprobs: Sequence[float],
    baseline: Sequence[float],
    model: ModelDescription,
) -> Control:
    """What came out of a control; raises when it is not the baseline."""
    pairs = zip(logprobs, baseline, strict=True)
    difference = max((abs(a - b) for a, b in pairs), key=lambda d: math.inf if d != d else d)
    tolerance = 0.0 if model.exact else TOLERANCE[model.dtype]
    site = control.write.site
    if not difference <= tolerance:
        raise ControlFailed(
            f"control {control.kind} at {site.hook}, layer {site.layer}, position "
            f"{site.positions[0]} differs from the baseline by {difference:.3g} in log-probability "
            f"(allowed: {tolerance:g}); no number of this sweep can be trusted"
        )
    return Control(
        kind=control.kind,
        hook=site.hook,
        layer=site.layer,
        head=site.head,
        position=site.positions[0],
        difference=difference,
        tolerance=tolerance,
        passed=True,
    )
