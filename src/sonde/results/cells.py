"""One cell of a result that stands out: where it is, on every axis or as a site."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sonde.results.views import FoundCell, TableView
from sonde.schema import Hook


class ScoredSite(NamedTuple):
    """One cell: where, what came out, and the text of the token there."""

    hook: Hook
    layer: int | None
    """None where the table has no layers."""
    position: int | None
    """None where it has no positions: they were written together."""
    value: float
    token: str
    head: int | str | None = None
    """None where it has no heads; `0+1` where several were written together."""


def cell_at(views: Sequence[TableView], index: int) -> FoundCell:
    """The cell by its number among those of all pictures, one after the other."""
    ends = np.cumsum([view.values.size for view in views])
    panel = int(np.searchsorted(ends, index, side="right"))
    view = views[panel]
    inside = index - int(ends[panel]) + view.values.size
    row, column = divmod(inside, len(view.columns))
    place = view.rows.places[row] + view.columns.places[column]
    return FoundCell(panel, row, column, view.hook, place, float(view.values.flat[inside]))


def site_of(cell: FoundCell) -> ScoredSite:
    """The same as a site."""
    layer, position, head = (cell.at(name) for name in ("layer", "position", "head"))
    return ScoredSite(
        cell.hook,
        layer.value if layer is not None and isinstance(layer.value, int) else None,
        position.value if position is not None and isinstance(position.value, int) else None,
        cell.value,
        "" if position is None else position.label,
        None if head is None else head.value,
    )
