import numpy as np

from sonde.runs.analytics.grid import Grid, listed

SUMS = np.dtype([("count", "<u4"), ("sum", "<f8"), ("low", "<f8"), ("high", "<f8")])


def test_cells_are_added_up_and_keep_their_extremes() -> None:
    grid = Grid.empty(2, 3)
    rows = np.array([(2, 3.0, 1.0, 2.0), (1, 5.0, 5.0, 5.0), (0, 0.0, np.nan, np.nan)], SUMS)
    grid.add(np.array([1, 1, 0]), np.array([2, 2, 0]), rows)
    grid.add(np.array([1]), np.array([2]), np.array([(1, -4.0, -4.0, -4.0)], SUMS))
    cells = grid.cells()
    assert cells["count"] == [[0, 0, 0], [0, 0, 4]]
    assert cells["mean"] == [[None] * 3, [None, None, 1.0]]
    assert cells["low"][1][2] == -4.0
    assert cells["high"][1][2] == 5.0


def test_what_is_not_there_becomes_null_and_not_nan() -> None:
    assert listed(np.array([1.0, np.nan]), np.array([True, False])) == [1.0, None]
