"""Requests the engine's tests start from."""

from typing import Any

from sonde.backends.base import Backend
from sonde.engine import Limits, NamedVectors, sweep
from sonde.schema import Cell, PatchSweepRequest, Start, Summary, SweepEvent

CLEAN = "The Eiffel Tower is in the city of"
CORRUPT = "The big Colosseum is in the city of"
SHORT = "The Colosseum is in the city of"
"""One token fewer than the clean prompt."""


def request(**fields: Any) -> PatchSweepRequest:
    """A small sweep that is right as it stands."""
    given: dict[str, Any] = {
        "prompt": CORRUPT,
        "clean_prompt": CLEAN,
        "source_run": "clean",
        "layers": [0, 2],
        "positions": [2, 3, 8],
        "answer_token": " Paris",
    }
    given |= fields
    return PatchSweepRequest(**{name: value for name, value in given.items() if value is not ...})


def from_zeros(**fields: Any) -> PatchSweepRequest:
    """A sweep whose source is a vector: no run, no clean prompt."""
    return request(**{"source_run": ..., "clean_prompt": ..., "source_module": "zeros"} | fields)


def events_of(
    backend: Backend,
    asked: PatchSweepRequest,
    *,
    modules: NamedVectors | None = None,
    limits: Limits | None = None,
) -> list[SweepEvent]:
    """All events of a sweep."""
    return list(sweep(backend, asked, modules=modules, limits=limits))


def summary_of(
    backend: Backend, asked: PatchSweepRequest, *, modules: NamedVectors | None = None
) -> Summary:
    """The last event of a sweep; the others must be a start and its cells."""
    start, *cells, summary = events_of(backend, asked, modules=modules)
    assert isinstance(start, Start)
    assert isinstance(summary, Summary)
    assert all(isinstance(cell, Cell) for cell in cells)
    assert len(cells) == start.cells
    return summary
