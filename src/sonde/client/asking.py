"""A study's arguments as a request: to the server for the whole grid, or cell by cell.

To the server go exactly the fields that clients of patching servers have always sent, nulls
included. What is not set here is not sent, so that a server can tell a default from a choice.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sonde.client.cells import CellSweep
from sonde.client.grading import checked_metric
from sonde.client.result import CleanRun
from sonde.schema import PatchSweepRequest, Positions
from sonde.schema.attention import AttentionRequest
from sonde.schema.table import SweepRequest


@dataclass(frozen=True)
class Grid:
    """What is swept and how it is graded, whatever is patched in."""

    model: str
    prompt: str
    hook: str
    hooks: Sequence[str] | None
    layers: list[int]
    positions: Positions
    alpha: float
    answer_token: str
    foil_token: str | None
    metric: str
    logprobs: int

    def fields(self) -> dict[str, Any]:
        """The fields that every sweep has."""
        fields = {
            "model": self.model,
            "prompt": self.prompt,
            "hook": self.hook,
            "layers": self.layers,
            "positions": self.positions,
            "alpha": self.alpha,
            "answer_token": self.answer_token,
            "foil_token": self.foil_token,
            "metric": self.metric,
            "logprobs": self.logprobs,
            "stream": False,
        }
        return fields if self.hooks is None else fields | {"hooks": list(self.hooks)}


def from_run(
    grid: Grid,
    *,
    run: str | None,
    clean: CleanRun | None,
    clean_prompt: str | None,
    keep_source: bool,
) -> PatchSweepRequest:
    """A sweep from a source run: named, captured before, or to be captured by the server."""
    text = clean_prompt or (clean.prompt if clean else None)
    name = run or (clean.run_id if clean else None) or (uuid.uuid4().hex if text else None)
    if name is None:
        raise ValueError("a sweep on the server needs run, clean or clean_prompt: what to patch in")
    return PatchSweepRequest(
        **grid.fields(),
        source_run=name,
        clean_prompt=text,
        clean_baseline=clean.baseline(grid.metric) if clean else None,
        keep_source=keep_source,
    )


def from_vector(
    grid: Grid,
    *,
    source: str,
    source_inline: int | None,
    mask: Mapping[str, Any] | None,
    patch_vectors: Mapping[str, Any] | None,
) -> PatchSweepRequest:
    """A sweep from a vector: named, `zeros`, or a row of the table sent along."""
    if source_inline is not None and source != "zeros":
        raise ValueError(f"set source, which is {source!r}, or source_inline, but not both")
    chosen: dict[str, Any] = (
        {"source_module": source} if source_inline is None else {"source_inline": source_inline}
    )
    further = {"mask": mask, "patch_vectors": patch_vectors}
    set_only: dict[str, Any] = {name: each for name, each in further.items() if each is not None}
    return PatchSweepRequest(**grid.fields(), **chosen, **set_only)


def cell_by_cell(
    grid: Grid, *, run: str | None, clean: CleanRun | None, clean_prompt: str | None
) -> CellSweep:
    """A sweep from a source run that is on the server already."""
    name = run or (clean.run_id if clean else None)
    if name is None:
        raise ValueError("cell by cell a sweep needs run or clean: what was captured before")
    metric = checked_metric(grid.metric, grid.foil_token)
    if metric == "recovered" and (clean is None or clean.clean_logprob is None):
        raise ValueError(
            "metric 'recovered' needs the clean prompt's log-probability: pass clean, "
            "from capture_clean(..., answer_token=...)"
        )
    return CellSweep(
        model=grid.model,
        prompt=grid.prompt,
        run=name,
        hook=grid.hook,
        layers=grid.layers,
        positions=grid.positions,
        metric=metric,
        answer=grid.answer_token,
        foil=grid.foil_token,
        alpha=grid.alpha,
        clean=clean,
        clean_prompt=clean_prompt,
    )


def body_of(request: PatchSweepRequest | SweepRequest | AttentionRequest) -> dict[str, Any]:
    """A request as it is sent: the fields that were set, and no others."""
    return request.model_dump(mode="json", exclude_unset=True)
