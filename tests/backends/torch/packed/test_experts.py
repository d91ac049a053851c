"""Experts give a row the same bits whatever else is routed beside it."""

import pytest
import torch
from torch import Tensor, nn

from sonde.backends.torch.packed import experts
from tests.architectures import ARCHITECTURES, WIDTH

MOES = ["mixtral", "qwen3_moe", "gpt_oss"]


def moe_of(name: str) -> nn.Module:
    """The first layer's experts, and a batch of rows for them."""
    model = ARCHITECTURES[name].build()
    return next(m for m in model.modules() if hasattr(m, "_apply_gate"))


def routed(n: int) -> tuple[Tensor, Tensor, Tensor]:
    draw = torch.Generator().manual_seed(1)
    hidden = torch.randn(n, WIDTH, generator=draw)
    chosen = torch.stack([torch.randperm(4, generator=draw)[:2] for _ in range(n)])
    weights = torch.rand(n, 2, generator=draw)
    return hidden, chosen, weights


@pytest.mark.parametrize("name", MOES)
def test_the_models_own_experts_say_the_same(name: str) -> None:
    moe, (hidden, chosen, weights) = moe_of(name), routed(37)

    found = experts.padded_experts(moe, hidden, chosen, weights)

    torch.testing.assert_close(found, moe(hidden, chosen, weights), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", MOES)
def test_a_row_has_the_same_bits_however_it_is_batched(name: str) -> None:
    moe, (hidden, chosen, weights) = moe_of(name), routed(37)
    together = experts.padded_experts(moe, hidden, chosen, weights)

    for size in (1, 5, 20):
        alone = experts.padded_experts(moe, hidden[:size], chosen[:size], weights[:size])
        assert alone.equal(together[:size])


def test_rows_sent_to_no_expert_stay_zero() -> None:
    """An expert beyond the last means another machine has it, or nobody."""
    moe, (hidden, _, weights) = moe_of("mixtral"), routed(3)

    out = experts.padded_experts(moe, hidden, torch.full((3, 2), 4), weights)

    assert out.eq(0).all()


@pytest.mark.parametrize("name", [*MOES, "llama"])
def test_models_with_experts_are_told_from_those_without(name: str) -> None:
    assert experts.uses_experts(ARCHITECTURES[name].build()) == (name in MOES)
