"""A schedule says when cells join and what is written where, and keeps its index tensors."""

import torch

from sonde.backends.torch.packed.cells import PackedCell, PlacedWrite
from sonde.backends.torch.packed.schedule import Schedule, in_order

LATE = PackedCell(0, (PlacedWrite(3, None, (2,), 0),), 2, 3, ())
EARLY = PackedCell(1, (PlacedWrite(1, None, (4,), 1),), 4, 1, ())
INSIDE = PackedCell(2, (PlacedWrite(0, "mlp_in", (3,), 2),), 3, 1, (3,))
BEYOND = PackedCell(3, (PlacedWrite(4, None, (5,), 3),), 5, 4, ())
"""Written to what leaves the last of four layers."""


def schedule() -> Schedule:
    cells = in_order([LATE, EARLY, INSIDE, BEYOND])
    return Schedule(cells, lengths=[6], n_layers=4, device=torch.device("cpu"))


def test_cells_are_in_the_order_in_which_they_join() -> None:
    """Those with a row computed alone come first, so that it can be put among them."""
    assert in_order([LATE, EARLY, INSIDE, BEYOND]) == [INSIDE, EARLY, LATE, BEYOND]


def test_a_cell_is_active_from_the_layer_it_joins() -> None:
    assert [schedule().active(layer) for layer in range(5)] == [0, 2, 2, 3, 4]
    assert schedule().first_layer == 0


def test_what_is_written_is_known_by_layer() -> None:
    found = schedule()
    assert found.alone(0) == [(0, 3)]
    assert found.inside(0) == [(0, INSIDE.patches[0])]
    assert [*found.entering(0), *found.inside(1), *found.alone(1)] == []
    assert found.at_entry == [(1, EARLY.patches[0]), (2, LATE.patches[0])]
    assert [found.at_entry[found.entries(layer)] for layer in (1, 2, 3)] == [
        [(1, EARLY.patches[0])], [], [(2, LATE.patches[0])],
    ]  # fmt: skip
    assert found.entering(4) == [(3, BEYOND.patches[0])]


def test_rows_that_have_changed_before_are_not_written_to_beforehand() -> None:
    """After a patch inside the layer below, and in a layer above the one they joined at."""
    twice = PackedCell(
        0, (PlacedWrite(0, "mlp_in", (3,), 0), PlacedWrite(1, None, (3,), 1)), 3, 1, (3,)
    )
    again = PackedCell(1, (PlacedWrite(1, None, (2,), 2), PlacedWrite(2, None, (2,), 3)), 2, 1, ())
    found = Schedule([twice, again], lengths=[6], n_layers=4, device=torch.device("cpu"))

    assert found.at_entry == [(1, again.patches[0])]
    assert found.entering(1) == [(0, twice.patches[1])]
    assert found.entering(2) == [(1, again.patches[1])]


def test_the_same_integers_are_the_same_tensor() -> None:
    found = schedule()
    assert found.index([4, 2]) is found.index((4, 2))
    assert found.index([4, 2]).tolist() == [4, 2]
    assert found.index(range(2)).tolist() == [0, 1]
