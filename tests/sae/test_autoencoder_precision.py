"""Products are float32 whatever the process has asked for, and the asking is not forgotten."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from sonde.sae.autoencoder import exact_float32
from tests.sae.formulas import activations, dictionary

CPU = torch.device("cpu")
X = torch.from_numpy(activations())


def settings() -> list[str]:
    mkldnn: Any = torch.backends.mkldnn
    return [torch.backends.cuda.matmul.fp32_precision, mkldnn.matmul.fp32_precision]


@pytest.fixture
def loose() -> Iterator[None]:
    torch.set_float32_matmul_precision("medium")
    yield
    torch.set_float32_matmul_precision("highest")


@pytest.mark.usefixtures("loose")
def test_loose_products_are_put_aside_and_put_back() -> None:
    before = settings()
    assert before == ["tf32", "bf16"]

    with exact_float32(CPU):
        assert settings() == ["ieee", "ieee"]

    assert settings() == before
    assert torch.get_float32_matmul_precision() == "medium"


@pytest.mark.usefixtures("loose")
def test_the_setting_comes_back_after_an_error() -> None:
    before = settings()
    with pytest.raises(ZeroDivisionError), exact_float32(CPU):
        raise ZeroDivisionError
    assert settings() == before


def test_autocast_and_gradients_stop_at_the_door() -> None:
    weight = torch.ones(3, 3, requires_grad=True)

    with torch.autocast("cpu", dtype=torch.bfloat16), exact_float32(CPU):
        product = weight @ weight

    assert product.dtype == torch.float32
    assert not product.requires_grad


@pytest.mark.usefixtures("loose")
def test_encoding_in_a_training_step_gives_the_bits_it_gives_alone() -> None:
    sae = dictionary(d_in=64, d_sae=512)
    x = torch.randn(40, 64, generator=torch.Generator().manual_seed(0))
    torch.set_float32_matmul_precision("highest")
    alone = sae.encode(x), sae.reconstruct(x)
    torch.set_float32_matmul_precision("medium")

    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = sae.encode(x.clone().requires_grad_()), sae.reconstruct(x)

    assert inside[0].values.equal(alone[0].values)
    assert inside[0].indices.equal(alone[0].indices)
    assert inside[1].equal(alone[1])
    assert not inside[0].values.requires_grad
