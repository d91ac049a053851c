"""What is active, by the definitions of the papers on small tensors."""

import math

import pytest
import torch
from torch import Tensor

from sonde.sae.activations import BatchTopK, JumpRelu, TopK
from sonde.sae.sparsity import FIRST, PULL, SLOPE_OVER, ByBatch, ByThreshold, ByToken, Sparsity

CPU = torch.device("cpu")
ONE = torch.ones(())


def pre_activations(tokens: int = 9, features: int = 30, seed: int = 0) -> Tensor:
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(tokens, features, generator=draw, requires_grad=True)


def test_topk_keeps_the_k_largest_of_each_token_and_no_negative_one() -> None:
    pre = torch.tensor([[3.0, 1.0, 2.0, -1.0], [-4.0, -1.0, 0.5, -2.0]])
    kept = ByToken(2).features(pre)
    assert kept.tolist() == [[3.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.5, 0.0]]
    held = ByToken(2).activation(ONE)
    assert isinstance(held, TopK)
    assert held.k == 2


def test_batchtopk_keeps_the_nk_largest_of_the_whole_batch() -> None:
    pre = pre_activations()
    way = ByBatch(4, 30, None, CPU)
    kept = way.features(pre)
    order = pre.detach().flatten().argsort(descending=True)
    expected = torch.zeros(270)
    expected[order[:36]] = pre.detach().flatten()[order[:36]]
    assert torch.equal(kept.detach(), expected.view(9, 30))
    assert len(set((kept > 0).sum(1).tolist())) > 1, "tokens take as many as they need"
    (gradient,) = torch.autograd.grad(kept.sum(), pre)
    assert torch.equal(gradient, (kept > 0).float())


def test_batchtopk_keeps_no_negative_one_where_there_are_too_few() -> None:
    kept = ByBatch(3, 4, None, CPU).features(torch.tensor([[1.0, -1.0, -2.0, 0.5]]))
    assert kept.tolist() == [[1.0, 0.0, 0.0, 0.5]]


@pytest.mark.parametrize("threshold", [0.0, 0.5, 1.1, 9.0])
def test_batchtopk_keeps_the_same_ones_wherever_it_looks_first(threshold: float) -> None:
    pre, way = pre_activations(), ByBatch(4, 30, None, CPU)
    expected = way.features(pre)
    way.threshold.fill_(threshold)
    assert torch.equal(way.features(pre), expected)


def test_batchtopks_threshold_is_the_mean_of_the_smallest_that_were_kept() -> None:
    """Over the first steps; later ones count more, by a hundredth each."""
    way, least = ByBatch(4, 30, None, CPU), []
    for seed in range(3):
        kept = way.features(pre_activations(seed=seed)).detach()
        least.append(float(kept[kept > 0].min()))
    assert float(way.threshold) == pytest.approx(sum(least) / 3, rel=0.02)
    held = way.activation(2 * ONE)
    assert isinstance(held, BatchTopK)
    assert held.k == 4
    assert held.threshold == pytest.approx(2 * float(way.threshold))


def test_a_feature_over_the_cap_needs_more_and_keeps_its_own_threshold() -> None:
    way = ByBatch(2, 3, 0.5, CPU)
    pre = torch.tensor([[1.0, 0.9, 0.1], [1.0, 0.2, 0.8], [1.0, 0.3, 0.7]])
    for _ in range(200):
        kept = way.features(pre)
        way.hear((kept > 0).sum(0), 3)
    assert float(way.handicap[0]) > 0
    assert float(way.handicap[2]) < float(way.handicap[0])
    held = way.activation(3 * ONE)
    assert isinstance(held, JumpRelu)
    torch.testing.assert_close(held.threshold, 3 * (way.threshold + way.handicap))
    before = float(way.handicap[0])
    way.hear(torch.zeros(3), 3)
    assert float(way.handicap[0]) < before


def test_jumprelu_passes_what_is_above_the_features_own_threshold() -> None:
    way = ByThreshold(2, 3, CPU)
    with torch.no_grad():
        way.log_threshold.copy_(torch.tensor([0.5, 1.0, 2.0]).log())
    pre = torch.tensor([[0.6, 0.9, 2.5], [0.4, 1.1, -3.0]])
    assert way.features(pre).tolist() == [
        pytest.approx([0.6, 0.0, 2.5]),
        pytest.approx([0, 1.1, 0]),
    ]
    held = way.activation(4 * ONE)
    assert isinstance(held, JumpRelu)
    torch.testing.assert_close(held.threshold, torch.tensor([2.0, 4.0, 8.0]))


def test_jumprelus_gradients_are_those_of_the_paper() -> None:
    """∂/∂z = [z > θ], ∂/∂θ = −(θ/ε) K((z − θ)/ε) and, of the step, −(1/ε) K((z − θ)/ε).

    K is 1 within half a width of 0. The parameter is log θ, which multiplies by θ.
    """
    way, width = ByThreshold(1, 4, CPU), SLOPE_OVER
    z = [FIRST - 0.4 * width, FIRST + 0.4 * width, FIRST + 0.6 * width, FIRST - 0.6 * width]
    pre = torch.tensor([z], requires_grad=True)
    upstream = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    (way.features(pre) * upstream).sum().backward()
    assert pre.grad is not None
    assert pre.grad.tolist() == [[0.0, 2.0, 3.0, 0.0]]
    assert way.log_threshold.grad is not None
    expected = [-FIRST / width * FIRST * up * near for up, near in ((1, 1), (2, 1), (3, 0), (4, 0))]
    assert way.log_threshold.grad.tolist() == pytest.approx(expected)

    way = ByThreshold(1, 4, CPU)
    penalty = way.penalty(pre)
    assert penalty is not None
    assert penalty.item() == pytest.approx(PULL * (2 / 1 - 1) ** 2)
    penalty.backward()
    assert way.log_threshold.grad is not None
    outer = PULL * 2 * (2 - 1)
    expected = [-outer * FIRST / width * near for near in (1, 1, 0, 0)]
    assert way.log_threshold.grad.tolist() == pytest.approx(expected)


def test_only_jumprelu_learns_by_gradients_and_only_batchtopk_keeps_something() -> None:
    ways: list[Sparsity] = [ByToken(2), ByBatch(2, 5, None, CPU), ByThreshold(2, 5, CPU)]
    assert [len(way.learned()) for way in ways] == [0, 0, 1]
    assert [len(way.running()) for way in ways] == [0, 3, 0]
    assert [way.penalty(pre_activations(features=5)) is None for way in ways] == [True, True, False]
    assert math.log(FIRST) == pytest.approx(ways[2].learned()["log_threshold"][0].item())
