"""Normalising and undoing it."""

import pytest
import torch

from sonde.sae.norms import Norm, normalise, undo

X = 3 * torch.randn(6, 32, generator=torch.Generator().manual_seed(0)) + 1


def test_a_layer_norm_has_mean_0_and_deviation_1() -> None:
    y, _, _ = normalise(X, "layer_norm")

    torch.testing.assert_close(y.mean(1), torch.zeros(6), atol=1e-6, rtol=0)
    torch.testing.assert_close(y.std(1), torch.ones(6), atol=1e-4, rtol=0)


def test_a_unit_norm_has_the_length_of_the_root_of_the_width() -> None:
    y, _, _ = normalise(X, "unit_norm")

    torch.testing.assert_close(y.norm(dim=1), torch.full((6,), 32**0.5))


@pytest.mark.parametrize("norm", ["none", "layer_norm", "unit_norm"])
def test_undoing_gives_back_what_was(norm: Norm) -> None:
    y, scale, shift = normalise(X, norm)

    torch.testing.assert_close(undo(y, scale, shift), X, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("norm", ["none", "layer_norm", "unit_norm"])
def test_zeros_stay_finite(norm: Norm) -> None:
    y, scale, shift = normalise(torch.zeros(2, 8), norm)

    assert y.eq(0).all()
    assert undo(y, scale, shift).eq(0).all()
