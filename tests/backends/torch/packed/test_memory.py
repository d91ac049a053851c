"""Memory is measured, bounded and honoured; a smaller budget gives the same bits, more slowly."""

import gc
from functools import partial

import pytest
import torch

from sonde.backends.base import Row
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.packed.memory import (
    ChunkBytes,
    largest_chunk,
    measure,
    peak_bytes,
    rough_cell_bytes,
    rough_row_bytes,
)
from sonde.backends.torch.packed.scorer import rough_bytes
from sonde.errors import RequestTooLarge
from tests.backends.torch.tiny import (
    Scored,
    asked,
    captured,
    from_run,
    pair_of_prompts,
    scores,
    sites,
    tiny_backend,
)

CPU = torch.device("cpu")


def test_the_peak_counts_what_lives_at_the_same_time() -> None:
    def run() -> None:
        torch.zeros(1000)  # 4,000 bytes, gone at once
        first = torch.zeros(2000)
        second = first + 1
        del first
        second.add_(1)

    assert peak_bytes(run, CPU) == 16_000


def test_views_and_tensors_from_outside_do_not_count() -> None:
    outside = torch.zeros(1000)

    assert peak_bytes(lambda: outside[10:].view(-1).mul_(2), CPU) == 0


def test_the_coefficients_are_found_again() -> None:
    def run(cells: int, first: int) -> int:
        rows = cells * (37 - first)
        return 1000 + 10 * (-(-rows // 16) * 16) + 300 * cells

    assert measure(run, 37, 16) == ChunkBytes(1000, 10, 300, 16)


@pytest.mark.parametrize("n_tokens", [1, 2, 15, 16, 40])
def test_a_measurement_is_small(n_tokens: int) -> None:
    """It runs under the very budget that it is to establish."""
    asked = []

    def run(cells: int, first: int) -> int:
        asked.append(cells * (n_tokens - first))
        return 0

    measure(run, n_tokens, 16)
    assert max(asked) <= 48


def test_a_chunk_is_reckoned_with_its_padding() -> None:
    assert ChunkBytes(7, 10, 100, 16).of(cells=2, rows=17) == 7 + 200 + 320


def test_chunks_grow_until_the_budget_or_the_useful_size_is_reached() -> None:
    fits = largest_chunk(ChunkBytes(0, 1, 0, 1), budget=100, held=40, most=50, longest=9)

    assert fits(1, 50)
    assert not fits(1, 51)
    tight = largest_chunk(ChunkBytes(0, 1, 0, 1), budget=100, held=80, most=50, longest=9)
    assert tight(1, 20)
    assert not tight(1, 21)


def test_a_budget_below_one_cell_is_refused_with_both_sizes() -> None:
    mib = 2**20
    with pytest.raises(
        RequestTooLarge, match=r"needs 3\.0 MiB and the budget is 2\.0 MiB"
    ) as caught:
        largest_chunk(ChunkBytes(mib, mib, 0, 1), budget=2 * mib, held=mib, most=9, longest=1)

    assert caught.value.needed_bytes == 3 * mib
    assert caught.value.budget_bytes == 2 * mib


class Grid:
    """A full grid over a backend with some budget, the prompts run already."""

    def __init__(self, name: str, n_tokens: int, budget: int | None = None) -> None:
        self.backend: TorchBackend = tiny_backend(name, memory_budget=budget)
        clean, self.corrupt = pair_of_prompts(n_tokens)
        run = captured(self.backend, "clean", clean)
        self.rows = from_run(run, sites(self.backend, n_tokens))
        self.backend.prepare([clean, self.corrupt], self.backend.describe().layer_hooks)
        self.held = self.backend._scorer._held()

    def run(self) -> tuple[Scored, int]:
        """The numbers, and the peak with what the unpatched runs hold.

        What a chunk held must go with it, and not wait until Python looks for cycles.
        """
        found: list[Scored] = []
        gc.collect()
        gc.disable()
        try:
            run = partial(scores, self.backend, self.corrupt, self.rows)
            peak = peak_bytes(lambda: found.append(run()), CPU)
        finally:
            gc.enable()
        return found[0], peak + self.held


@pytest.mark.parametrize(
    ("name", "n_tokens"),
    [
        ("llama", 37),
        pytest.param("gemma2", 21, marks=pytest.mark.slow),
        pytest.param("qwen3_moe", 37, marks=pytest.mark.slow),
    ],
)
def test_the_budget_is_honoured_within_ten_percent_and_the_bits_stay(
    name: str, n_tokens: int
) -> None:
    unbounded = Grid(name, n_tokens)
    expected, most = unbounded.run()
    for share in (1.0, 0.5, 0.25):
        budget = round(unbounded.held + share * (most - unbounded.held))

        found, peak = Grid(name, n_tokens, budget).run()

        assert (found == expected).all()
        assert peak <= 1.10 * budget


@pytest.mark.slow
def test_whole_sequences_honour_it_too() -> None:
    expected, most = Grid("mamba", 18).run()

    found, peak = Grid("mamba", 18, most).run()

    assert (found == expected).all()
    assert peak <= 1.10 * most


@pytest.mark.parametrize("name", ["llama", "mamba"])
def test_a_grid_whose_single_cell_does_not_fit_is_refused(name: str) -> None:
    grid = Grid(name, 18, 50_000)

    with pytest.raises(RequestTooLarge, match="raise memory_budget or shorten the prompt"):
        grid.run()


def test_the_estimate_of_bytes_is_not_below_what_is_used() -> None:
    grid = Grid("llama", 37)
    differing = [row.writes[0] for row in grid.rows if row.writes[0].site.positions[0] >= 37 // 3]
    cost = grid.backend.cost([asked(grid.corrupt, [Row((write,)) for write in differing])])
    _, peak = grid.run()

    assert peak <= 1.10 * cost.working_bytes
    assert cost.chunks > 1


@pytest.mark.parametrize("n_tokens", [9, 37, 60])
def test_the_rough_bound_is_above_the_measured_one(n_tokens: int) -> None:
    """Where it is far below the budget nothing is measured, so it must not be too low.

    Also for cells of a single row, whose keys are the whole prompt's.
    """
    grid = Grid("llama", n_tokens)
    backend = grid.backend
    window, _ = backend._scorer._begin([(0, asked(grid.corrupt, []))], read=False)
    measured = backend._scorer._chunk_cost(window)
    rough = rough_bytes(backend._path, window.trace)

    for rows in (64, 512):
        assert rows * rough > measured.of(cells=rows, rows=rows)
        assert rows * rough > measured.of(cells=-(-rows // n_tokens), rows=rows)


def test_the_rough_bounds_grow_with_what_they_bound() -> None:
    layer = torch.nn.Linear(8, 20)
    assert rough_row_bytes(layer) == 3 * 4 * 20
    keys = torch.zeros(5, 2, 4)
    assert rough_cell_bytes(keys, 4, 200) > 2 * 200 * 2 * 4 * 4


def test_a_baseline_alone_needs_no_chunk() -> None:
    grid = Grid("llama", 9, 1)

    assert [part.computed for part in grid.backend.score([asked(grid.corrupt, [Row()], [5])])] == [
        0
    ]
