"""Padded batches give a row the same bits whatever is beside it."""

import pytest
import torch
import torch.nn.functional as F

from sonde.backends.torch.packed.rows import (
    CPU_LAID_OUT_ROWS,
    CPU_ROWS,
    CUDA_FIXED_ROWS,
    CUDA_ROWS,
    pad_rows,
    padded,
    row_shape,
)


@pytest.mark.parametrize(("n", "expected"), [(0, 0), (1, 16), (16, 16), (17, 32)])
def test_counts_are_rounded_up(n: int, expected: int) -> None:
    assert padded(n, 16) == expected
    assert pad_rows(torch.ones(n, 3), 16).shape == (expected, 3)


def test_padding_is_zero_and_rows_stay() -> None:
    rows = torch.rand(5, 3)

    out = pad_rows(rows, 4)

    assert out[:5].equal(rows)
    assert out[5:].eq(0).all()


def test_whole_groups_are_not_copied() -> None:
    rows = torch.rand(16, 3)

    assert pad_rows(rows, 16) is rows


@pytest.mark.parametrize("width", [32, 48, 576])
def test_a_row_of_a_padded_product_has_the_same_bits_however_it_is_batched(width: int) -> None:
    """What everything else stands on; it holds for the matrix product of this machine, or not."""
    draw = torch.Generator().manual_seed(0)
    rows, weight = torch.randn(300, width, generator=draw), torch.randn(97, width, generator=draw)
    alone = torch.cat(
        [F.linear(pad_rows(rows[i : i + 1], 16), weight)[:1] for i in range(0, 300, 7)]
    )

    for count in (16, 17, 100, 300):
        together = F.linear(pad_rows(rows[:count], 16), weight)[:count:7]
        assert together.equal(alone[: len(together)])


def test_a_device_has_its_own_shape() -> None:
    """On a GPU one shape for all batches is a choice; on a CPU it is not needed."""
    cpu, cuda = torch.device("cpu"), torch.device("cuda")

    assert row_shape(cpu) is row_shape(cpu, fixed=True) is CPU_ROWS
    assert row_shape(cpu, laid_out=True) is CPU_LAID_OUT_ROWS
    assert row_shape(cuda) is CUDA_ROWS
    assert row_shape(cuda, fixed=True) is CUDA_FIXED_ROWS
    assert CUDA_FIXED_ROWS.multiple == CUDA_FIXED_ROWS.most
    assert CPU_ROWS.padded(17) == 32
