"""A chunk split over threads: the same bits, every cell once, the process's setting put back."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from sonde.backends.base import FromVector, Row, Work, Write, logprobs_of, write_at
from sonde.backends.torch.cpu.parallel import SplitRun, dealt, split
from sonde.backends.torch.cpu.threads import one_thread_each
from sonde.backends.torch.packed.cells import PackedCell
from tests.backends.torch.tiny import prompt, tiny_backend, vector


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


class Scripted:
    """A run whose cells end in their own number."""

    def __init__(self, cells: list[PackedCell]) -> None:
        self.cells = list(reversed(cells))
        self.threads = 0

    def final(self) -> torch.Tensor:
        self.threads = torch.get_num_threads()
        return torch.tensor([[float(cell.row)] for cell in self.cells])


def cells(n: int) -> list[PackedCell]:
    return [PackedCell(i, (), i % 5, i % 3, ()) for i in range(n)]


@pytest.mark.usefixtures("two_threads")
def test_every_cell_ends_with_its_own_result_whatever_the_order() -> None:
    run = split(cells(50), lambda some: Scripted(list(some)))
    assert isinstance(run, SplitRun)
    assert sorted(cell.row for cell in run.cells) == list(range(50))
    assert run.final()[:, 0].tolist() == [cell.row for cell in run.cells]


@pytest.mark.usefixtures("two_threads")
def test_shares_run_on_one_thread_and_the_setting_comes_back() -> None:
    made: list[Scripted] = []

    def start(some: Sequence[PackedCell]) -> Scripted:
        made.append(Scripted(list(some)))
        return made[-1]

    split(cells(50), start).final()
    assert [run.threads for run in made] == [1, 1]
    assert torch.get_num_threads() == 2


def test_the_setting_comes_back_after_an_error() -> None:
    before = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError), one_thread_each():
        raise ZeroDivisionError
    assert torch.get_num_threads() == before


@pytest.mark.usefixtures("two_threads")
def test_few_cells_are_not_split() -> None:
    made: list[Scripted] = []

    def start(some: Sequence[PackedCell]) -> Scripted:
        made.append(Scripted(list(some)))
        return made[-1]

    split(cells(20), start).final()
    assert [(len(run.cells), run.threads) for run in made] == [(20, 2)]


@pytest.mark.usefixtures("two_threads")
def test_patches_inside_layers_are_split_too_and_leave_no_hook_behind() -> None:
    """Both threads write inside the same modules, each its own cells."""
    backend = tiny_backend()
    model, tokens = backend.describe(), prompt(9, 1)
    rows = [
        Row((write_at(hook, layer, position, FromVector(vector(model.width, position))),))
        for hook in ("post_attn", "mlp_in", "mlp_out")
        for layer in range(model.n_layers)
        for position in range(9)
    ]
    shared = graded(backend, tokens, rows)
    torch.set_num_threads(1)

    np.testing.assert_array_equal(graded(backend, tokens, rows), shared)
    modules = list(backend._model.modules())
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in modules)


@pytest.mark.usefixtures("two_threads")
def test_a_split_sweep_has_the_bits_of_one_that_is_not() -> None:
    backend = tiny_backend()
    model = backend.describe()
    tokens = prompt(21, 2)
    rows = [
        Row((replace_site(layer, position, model.width),))
        for layer in range(model.n_layers)
        for position in range(21)
    ]
    shared = graded(backend, tokens, rows)
    torch.set_num_threads(1)
    np.testing.assert_array_equal(graded(backend, tokens, rows), shared)


def replace_site(layer: int, position: int, width: int) -> Write:
    site = write_at("post_block", layer, position, FromVector(vector(width, layer)))
    return replace(site, alpha=0.7)


def graded(backend: object, tokens: list[int], rows: list[Row]) -> np.ndarray:
    out = np.zeros((len(rows), 2))
    for scores in backend.score([Work(tokens, rows, logprobs_of([5, 50]))]):  # type: ignore[attr-defined]
        out[list(scores.rows)] = scores.values
    return out


def test_cells_are_dealt_out_so_that_all_hands_cost_about_the_same() -> None:
    """A whole grid, at every layer suffixes of 8, 7, … 1 rows, and the unpatched prompt."""
    cells = [PackedCell(0, (), 0, 0, ())]
    cells += [PackedCell(0, (), first, joins, ()) for joins in range(30) for first in range(1, 9)]
    for hands in (2, 3, 4):
        out = dealt(cells, hands)
        assert sorted(map(id, cells)) == sorted(id(cell) for hand in out for cell in hand)
        costs = [sum((9 - cell.first) * (30 - cell.joins) for cell in hand) for hand in out]
        assert max(costs) < 1.03 * min(costs)
