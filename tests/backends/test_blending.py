"""What a write leaves: blends and sums by the formula, and the very bits where nothing changes."""

import pytest
import torch

from sonde.backends.blending import added, blend, untouched, written

WIDTH = 4
DTYPES = [torch.float32, torch.bfloat16]
SET, ADD = torch.tensor([[False]]), torch.tensor([[True]])


@pytest.mark.parametrize("weight", [0.3, -1.0, 2.5])
def test_a_weight_mixes_by_the_formula(weight: float) -> None:
    current, source = torch.randn(3, WIDTH), torch.randn(3, WIDTH)
    mixed = blend(current, source, torch.full((3, 1), weight))
    torch.testing.assert_close(mixed, (1 - weight) * current + weight * source)


@pytest.mark.parametrize("dtype", DTYPES)
def test_weight_zero_keeps_and_weight_one_replaces_to_the_bit(dtype: torch.dtype) -> None:
    """Also where the other side is not a number: 0 * inf must not get in."""
    current, source = torch.randn(2, WIDTH, dtype=dtype), torch.randn(2, WIDTH, dtype=dtype)
    broken = torch.full_like(current, float("inf"))
    assert blend(current, broken, torch.zeros(2, 1)).equal(current)
    assert blend(broken, source, torch.ones(2, 1)).equal(source)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [0.0, float("inf")], ids=["zeros", "infinite"])
def test_adding_nothing_keeps_the_very_bits(dtype: torch.dtype, value: float) -> None:
    """Zeros with any weight, and anything with weight 0; minus zero stays what it is."""
    current = torch.tensor([[-0.0, 1.5, -2.25, 3e-9]], dtype=dtype)
    weight = torch.full((1, 1), 0.0 if value else 0.7)
    found = written(current, torch.full((1, WIDTH), value), weight, ADD)
    assert found.view(torch.uint8).equal(current.view(torch.uint8))


def test_rows_that_add_and_rows_that_set_stand_side_by_side() -> None:
    current, source = torch.ones(3, WIDTH), torch.full((3, WIDTH), 4.0)
    adds = torch.tensor([[True], [False], [True]])
    weight = torch.tensor([[1.0], [0.5], [0.25]])
    assert written(current, source, weight, adds)[:, 0].tolist() == [5.0, 2.5, 2.0]
    assert written(current, source, None, adds)[:, 0].tolist() == [5.0, 4.0, 5.0]
    assert written(current, source, None, None).equal(source)


def test_what_is_added_is_weighed_in_single_precision() -> None:
    source = torch.tensor([[1.0, 2.0]], dtype=torch.bfloat16)
    assert added(source, torch.tensor([[0.1, 0.0]])).tolist() == [[pytest.approx(0.1), 0.0]]
    assert added(source, None).dtype == torch.float32


def test_dimensions_that_a_write_leaves_alone_are_known() -> None:
    source, weight = torch.tensor([[0.0, 5.0, 0.0]]), torch.tensor([[1.0, 0.0, 0.5]])
    assert untouched(source, None, None) is None
    for adds, expected in (
        (None, [[False, True, False]]),
        (SET, [[False, True, False]]),
        (ADD, [[True, True, True]]),
    ):
        kept = untouched(source, weight, adds)
        assert kept is not None
        assert kept.tolist() == expected
    kept = untouched(source, None, ADD)
    assert kept is not None
    assert kept.tolist() == [[True, False, True]]
