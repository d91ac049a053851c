"""Sweeps that can be asked for later: their state, and what they found."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from sonde.schema.base import Wire
from sonde.schema.provenance import Provenance
from sonde.schema.sweep import SweepSummary
from sonde.schema.table import SweepTable

SweepState = Literal["waiting", "running", "finished", "failed", "cancelled", "interrupted"]
"""`interrupted`: the server ended while it ran, so nobody knows how it would have gone on."""

SweepKind = Literal["classic", "table"]
"""`classic`: asked of `/v1/patch_sweep`. `table`: asked of `/v1/sweeps`."""

SweepName = Annotated[str, Field(max_length=120, pattern=r"^[^\x00-\x1f\x7f]*$")]
"""One line."""
SweepNote = Annotated[str, Field(max_length=4_000)]

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
    kind: SweepKind = Field(default="classic", exclude_if=lambda value: value == "classic")
    """Left out of classic ones, whose clients know no other."""
    name: str = Field(default="", exclude_if=lambda value: value == "")
    """What somebody called it; like `note` and `starred` left out where nobody did."""
    note: str = Field(default="", exclude_if=lambda value: value == "")
    starred: bool = Field(default=False, exclude_if=lambda value: not value)
    """Kept, however old it becomes."""


class Remarks(Wire):
    """What somebody says of a sweep. What is left out stays; an empty text takes the old away."""

    name: SweepName | None = None
    note: SweepNote | None = None
    starred: bool | None = None


class SweepRecord(SweepEntry):
    """One sweep, whole."""

    summary: SweepSummary | None
    """What a classic sweep found."""
    table: SweepTable | None = Field(default=None, exclude_if=lambda value: value is None)
    """What a general sweep found."""

    @property
    def found(self) -> SweepSummary | SweepTable | None:
        """Either; None where it has not finished."""
        return self.summary if self.table is None else self.table


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
