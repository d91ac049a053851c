"""Cells of a heatmap, added up from sums: count, sum, least and greatest, each [rows, columns].

Cells that got nothing have count 0 and become null on the wire.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Grid:
    """Cells, to be added to."""

    count: Whole
    sum: Numbers
    low: Numbers
    high: Numbers

    @classmethod
    def empty(cls, rows: int, columns: int) -> "Grid":
        """Nothing in any cell."""
        shape = (rows, columns)
        return cls(
            np.zeros(shape, np.int64),
            np.zeros(shape),
            np.full(shape, np.inf),
            np.full(shape, -np.inf),
        )

    def add(
        self, row: NDArray[Any], column: NDArray[Any], sums: NDArray[Any], prefix: str = ""
    ) -> None:
        """Add rows that have `count`, `sum`, `low` and `high` to the cells they belong to."""
        there = sums[f"{prefix}count"] > 0
        if not there.any():
            return
        cell = (row * self.count.shape[1] + column)[there].astype(np.int64)
        order = np.argsort(cell, kind="stable")
        cell, found = cell[order], sums[there][order]
        starts = np.flatnonzero(np.r_[True, cell[1:] != cell[:-1]])
        where = np.unravel_index(cell[starts], self.count.shape)
        counts = found[f"{prefix}count"].astype(np.int64)
        self.count[where] += np.add.reduceat(counts, starts)
        self.sum[where] += np.add.reduceat(found[f"{prefix}sum"], starts)
        low = np.minimum.reduceat(found[f"{prefix}low"], starts)
        high = np.maximum.reduceat(found[f"{prefix}high"], starts)
        self.low[where] = np.minimum(self.low[where], low)
        self.high[where] = np.maximum(self.high[where], high)

    def cells(self) -> dict[str, Any]:
        """Lists for the wire."""
        there = self.count > 0
        mean = np.divide(self.sum, self.count, out=np.zeros_like(self.sum), where=there)
        return {
            "count": self.count.tolist(),
            "mean": listed(mean, there),
            "low": listed(self.low, there),
            "high": listed(self.high, there),
        }


def listed(values: Numbers, there: NDArray[np.bool_]) -> list[Any]:
    """Numbers as nested lists, None where there is none."""
    found = values.astype(object)
    found[~there] = None
    result: list[Any] = found.tolist()
    return result
