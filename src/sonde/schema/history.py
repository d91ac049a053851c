"""Sweeps that can be asked for later: their state, and what they found."""

from typing import Literal

from pydantic import AwareDatetime

from sonde.schema.base import Wire
from sonde.schema.provenance import Provenance
from sonde.schema.sweep import SweepSummary

SweepState = Literal["waiting", "running", "finished", "failed", "cancelled", "interrupted"]
"""`interrupted`: the server ended while it ran, so nobody knows how it would have gone on."""

ExportFormat = Literal["json", "csv", "parquet", "png", "svg", "html"]


class SweepEntry(Wire):
    """One line of the history."""

    id: str
    state: SweepState
    created: AwareDatetime
    ended: AwareDatetime | None
    cells: int | None
    """Cells of the grid; None before the axes are known."""
    done: int
    """Cells graded so far."""
    error: str | None
    """Why it has no result, when it failed."""
    provenance: Provenance


class SweepRecord(SweepEntry):
    """One sweep, whole."""

    summary: SweepSummary | None


class SweepHistory(Wire):
    """Sweeps, newest first."""

    sweeps: list[SweepEntry]
    next: str | None
    """Pass it as `before` for the next page; None on the last."""


class SweepCancelled(Wire):
    """What became of a request to stop a sweep."""

    cancelled: bool
    """False when it had ended already."""
    state: SweepState
