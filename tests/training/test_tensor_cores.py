"""The arithmetic, on any machine; its speed on a GPU is measured in benchmarks/sidecar_overhead."""

import pytest
import torch
from torch import Tensor

from sonde.training.tensor_cores import SplitEncoder, split
from tests.training.tiny_run import tiny_sae


def upcast(x: Tensor, weights: Tensor) -> Tensor:
    """What tensor cores do: exact products of float16 numbers, added up in float32."""
    assert x.dtype == weights.dtype == torch.float16
    return x.float() @ weights.float()


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(
    ("dtype", "parts"), [(torch.float32, 2), (torch.float16, 1), (torch.bfloat16, 1)]
)
def test_the_parts_add_up_to_the_weights(dtype: torch.dtype, parts: int) -> None:
    weights = (drawn(50, 70) / 64).to(dtype).float()
    found, power = split(weights)
    assert len(found) == parts
    total = torch.stack(found).double().sum(0) / 2.0**power
    assert (total - weights.double()).abs().max() <= weights.abs().max() * 2**-22


@pytest.mark.parametrize("scale", [1e-4, 1.0, 3e4])
def test_it_finds_the_features_that_float32_finds(scale: float) -> None:
    """Whatever the size of the activations, and with single ones a thousand times the others."""
    sae = tiny_sae(3, features=200, k=24)
    small = sae.with_tensors(
        sae.tensors() | {"b_dec": sae.b_dec * scale, "b_enc": sae.b_enc * scale}
    )
    x = drawn(77, 16, seed=1)
    x[::7, 3] *= 1000
    x = (x * scale).bfloat16()
    found, wanted = SplitEncoder(small, upcast).encode(x).top(16), small.encode(x).top(16)
    largest = wanted[1].amax(1, keepdim=True)
    assert ((found[1] - wanted[1]).abs() <= largest * 2e-6).all()
    gaps = (wanted[1][:, :-1] - wanted[1][:, 1:]).abs()
    clear = gaps.min(1).values > largest[:, 0] * 1e-5
    assert clear.sum() > 30
    assert torch.equal(found[0][clear], wanted[0][clear])


def test_rounding_weights_to_one_part_would_not_do() -> None:
    """The test above can fail: half precision alone is far off."""
    sae = tiny_sae(3, features=200, k=24)
    rough = sae.with_tensors(sae.tensors() | {"W_enc": sae.W_enc.half().float()})
    x = drawn(77, 16, seed=1).bfloat16()
    difference = rough.encode(x).top(16)[1] - sae.encode(x).top(16)[1]
    assert difference.abs().max() > 1e-4


def test_a_token_that_is_not_finite_spoils_no_other() -> None:
    sae = tiny_sae(3, features=200, k=24)
    x = drawn(5, 16).bfloat16()
    x[2, 4], x[3] = float("inf"), 0.0
    found, wanted = SplitEncoder(sae, upcast).encode(x).top(16)[1], sae.encode(x).top(16)[1]
    torch.testing.assert_close(found[[0, 1, 3, 4]], wanted[[0, 1, 3, 4]], rtol=1e-5, atol=1e-5)


def test_only_bfloat16_on_a_gpu_fits() -> None:
    x = torch.zeros(2, 16)
    assert not SplitEncoder.fits(tiny_sae(0), x)
    assert not SplitEncoder.fits(tiny_sae(0), x.bfloat16())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_same_on_tensor_cores() -> None:
    sae = tiny_sae(3, width=64, features=512, k=24).to("cuda")
    x = drawn(77, 64, seed=1).bfloat16().cuda()
    assert SplitEncoder.fits(sae, x)
    found, wanted = SplitEncoder(sae).encode(x).top(16)[1], sae.encode(x).top(16)[1]
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
