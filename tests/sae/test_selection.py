"""Selecting is exact: the same as a full sort, for any width, any k, with ties and infinities."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sonde.sae.selection import _largest_on_gpu, above, largest, rectangle

KINDS = {
    "random": lambda n, w, draw: torch.randn(n, w, generator=draw),
    "tied": lambda n, w, draw: torch.randint(-2, 3, (n, w), generator=draw).float(),
    "zero": lambda n, w, draw: torch.zeros(n, w),
    "signed zeros": lambda n, w, draw: torch.zeros(n, w) * torch.randn(n, w, generator=draw),
    "negative": lambda n, w, draw: -torch.rand(n, w, generator=draw),
    "rising": lambda n, w, draw: torch.arange(float(w)).expand(n, w).contiguous(),
    "one block": lambda n, w, draw: torch.arange(w).eq(w // 2).float().expand(n, w).contiguous(),
    "infinite": lambda n, w, draw: torch.randn(n, w, generator=draw) / torch.zeros(1),
}


def sorted_whole(rows: Tensor, k: int) -> tuple[Tensor, Tensor]:
    values, indices = rows.sort(dim=1, descending=True, stable=True)
    return indices[:, :k], values[:, :k]


@given(
    kind=st.sampled_from(sorted(KINDS)),
    n=st.integers(0, 20),
    width=st.integers(1, 700),
    k=st.integers(1, 80),
    seed=st.integers(0, 9),
)
def test_the_k_largest_are_those_of_a_full_sort(
    kind: str, n: int, width: int, k: int, seed: int
) -> None:
    rows = KINDS[kind](n, width, torch.Generator().manual_seed(seed))
    expected = sorted_whole(rows, k)

    indices, values = largest(rows.clone(), k)

    assert values.equal(expected[1])
    assert indices.equal(expected[0])


@given(
    kind=st.sampled_from(sorted(KINDS)),
    n=st.integers(0, 20),
    width=st.integers(1, 700),
    k=st.integers(1, 80),
)
def test_the_gpus_way_finds_the_same_values(kind: str, n: int, width: int, k: int) -> None:
    """It is plain torch, so that it can be tested anywhere; among equals it may pick others."""
    rows = KINDS[kind](n + 1, width, torch.Generator().manual_seed(1))
    k = min(k, width)

    indices, values = _largest_on_gpu(rows, k)

    assert values.equal(sorted_whole(rows, k)[1])
    assert rows.gather(1, indices).equal(values)
    assert all(len(set(row)) == k for row in indices.tolist())


@pytest.mark.parametrize(("width", "k"), [(4096, 64), (36864, 32), (5003, 17)])
def test_wide_rows(width: int, k: int) -> None:
    rows = torch.randn(8, width, generator=torch.Generator().manual_seed(2))
    expected = sorted_whole(rows, k)

    for indices, values in (largest(rows, k), _largest_on_gpu(rows, k)):
        assert values.equal(expected[1])
        assert indices.equal(expected[0])


@pytest.mark.parametrize("width", [8, 900])
@pytest.mark.parametrize("k", [2, 6])
def test_nan_is_never_among_the_largest_and_never_an_index_out_of_range(width: int, k: int) -> None:
    rows = torch.randn(5, width, generator=torch.Generator().manual_seed(5))
    rows[0, : width // 2] = torch.nan
    rows[1] = torch.nan
    rows[2, 3] = torch.nan
    expected = sorted_whole(rows.nan_to_num(-torch.inf), k)

    indices, values = largest(rows, k)

    assert values.equal(expected[1])
    assert indices.equal(expected[0])


def test_a_view_into_a_larger_buffer_is_read_as_it_is() -> None:
    buffer = torch.randn(32, 600, generator=torch.Generator().manual_seed(3))

    assert largest(buffer[:7], 5)[1].equal(sorted_whole(buffer[:7], 5)[1])


@pytest.mark.parametrize("bound", [0.0, 0.7, torch.linspace(-1, 1, 50)])
def test_above_keeps_what_is_strictly_larger(bound: Tensor | float) -> None:
    rows = torch.randn(9, 50, generator=torch.Generator().manual_seed(4))
    rows[0] = -5
    rows[1] = bound

    found = above(rows, bound)

    assert found.dense(50).equal(rows.where(rows > bound, 0.0))
    assert found.offsets.tolist() == [0, *(rows > bound).sum(1).cumsum(0).tolist()]


def test_a_rectangle_says_how_long_its_rows_are() -> None:
    found = rectangle(torch.arange(6).view(2, 3), torch.ones(2, 3), descending=True)

    assert (found.per_token, found.descending) == (3, True)
    assert found.offsets.tolist() == [0, 3, 6]
