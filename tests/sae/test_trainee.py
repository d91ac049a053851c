"""One autoencoder in training: it learns, keeps its promises, and revives what is silent."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sonde.sae.autoencoder import Origin
from sonde.sae.sparsity import Kind
from sonde.sae.trainee import Scaling, Shape, Trainee, centre_and_scale, rescued
from tests.sae.formulas import fvu

WIDTH = 12
SHAPE = Shape(d_sae=48, k=4, silent_after=2000)


def activations(n: int = 4000, seed: int = 0) -> Tensor:
    """Sums of three of 30 directions, far from the origin and large."""
    draw = torch.Generator().manual_seed(seed)
    directions = torch.randn(30, WIDTH, generator=torch.Generator().manual_seed(99))
    weights = torch.rand(n, 30, generator=draw)
    weights *= torch.rand(n, 30, generator=draw).argsort(1) < 3
    return 50 + 7 * weights @ directions


def trained(steps: int = 150, shape: Shape = SHAPE) -> Trainee:
    x = activations()
    trainee = Trainee(shape, centre_and_scale(x), seed=0)
    for step in range(steps):
        trainee.step(x[(step % 10) * 400 :][:400], 5e-3)
    return trainee


def test_the_unexplained_share_falls() -> None:
    x = activations()
    trainee = Trainee(SHAPE, centre_and_scale(x), seed=0)
    shares = [float(s[0] / s[1]) for s in (trainee.step(x[:400], 5e-3) for _ in range(100))]
    assert shares[-1] < 0.5 * shares[0]


def test_k_features_are_active_and_decoder_rows_have_length_1() -> None:
    trainee = trained(20)
    _, _, active = trainee.step(activations()[:400], 1e-3).tolist()
    assert active <= 400 * SHAPE.k
    torch.testing.assert_close(trainee.W_dec.norm(dim=1), torch.ones(48))


def test_what_is_finished_does_to_raw_activations_what_was_learned_on_scaled_ones() -> None:
    trainee, x = trained(), activations(seed=5)
    finished = trainee.finished("post_block", 3, Origin())
    y = trainee.scaling.apply(x)
    pre = y @ trainee.W_enc + trainee.b_enc
    values, indices = pre.topk(SHAPE.k)
    dense = torch.zeros_like(pre).scatter(1, indices, values.relu())
    rebuilt = dense @ trainee.W_dec + trainee.b_dec
    rebuilt = rebuilt * trainee.scaling.scale + trainee.scaling.mean
    torch.testing.assert_close(finished.reconstruct(x), rebuilt.detach(), rtol=1e-4, atol=1e-3)
    assert fvu(x, finished.reconstruct(x)) < 0.2
    assert (finished.hook, finished.layer) == ("post_block", 3)


def test_centre_and_scale_make_activations_comparable() -> None:
    x = activations()
    scaled = centre_and_scale(x).apply(x)
    torch.testing.assert_close(scaled.mean(0), torch.zeros(WIDTH), rtol=0, atol=1e-4)
    assert abs(float(scaled.square().mean()) - 1) < 1e-4


def kill(trainee: Trainee, features: slice) -> None:
    """Make some features lose every comparison, from now on and in the eyes of the trainee."""
    with torch.no_grad():
        trainee.b_enc[features] = -3.0
    trainee.silent_for[features] = trainee.shape.silent_after


def test_silent_features_learn_only_through_the_auxiliary_loss() -> None:
    x = activations()
    trainee = trained(50)
    kill(trainee, slice(0, 10))
    before = trainee.W_enc.detach().clone()
    moved = []
    for silent in (True, False):
        if not silent:
            trainee.silent_for.zero_()
        trainee.step(x[:400], 1e-9)
        gradient = trainee.W_enc.grad
        assert gradient is not None
        moved.append(float(gradient[:, :10].abs().sum()))
    assert moved[0] > 0
    assert moved[1] == 0
    torch.testing.assert_close(trainee.W_enc.detach(), before, rtol=0, atol=1e-5)


def test_a_feature_that_fires_is_no_longer_silent_and_the_dead_are_counted() -> None:
    trainee = Trainee(SHAPE, Scaling(torch.zeros(WIDTH), torch.ones(())), seed=0)
    x = activations()[:400] - 50
    trainee.step(x, 0.0)
    assert set(trainee.silent_for.tolist()) <= {0, 400}
    trainee.silent_for[:] = 0
    trainee.silent_for[:12] = SHAPE.silent_after
    assert trainee.dead == 0.25


@pytest.mark.parametrize("kind", ["topk", "batchtopk", "jumprelu"])
def test_a_restored_trainee_goes_on_bit_for_bit(kind: Kind) -> None:
    x, one = activations(), trained(30, replace(SHAPE, kind=kind))
    state = {name: tensor.clone() for name, tensor in one.state().items()}
    scaling, out = rescued(state)
    other = Trainee(one.shape, scaling, seed=7, out=out)
    other.restore(state)
    for trainee in (one, other):
        for _ in range(3):
            trainee.step(x[:400], 2e-3)
    for name, tensor in one.state().items():
        assert torch.equal(tensor, other.state()[name]), name


def test_every_prefix_of_a_matryoshka_rebuilds_by_itself() -> None:
    """The loss is the sum over prefixes, each with the activation less what the prefix says."""
    x, shape = activations()[:400], replace(SHAPE, nested=(6, 20))
    trainee = Trainee(shape, centre_and_scale(x), seed=0)
    y = trainee.scaling.apply(x)
    features = torch.rand(400, 48, generator=torch.Generator().manual_seed(1))
    for size, rest in zip((6, 20, 48), trainee._rests(features, y), strict=True):
        rebuilt = features[:, :size] @ trainee.W_dec[:size] + trainee.b_dec
        torch.testing.assert_close(rest, y - rebuilt, rtol=1e-4, atol=1e-5)
    nested, plain = trained(300, replace(SHAPE, nested=(12,))), trained(300)
    missed = [_by_prefix(each, activations(seed=5), 12) for each in (nested, plain)]
    assert missed[0] < 0.8 * missed[1]


def _by_prefix(trainee: Trainee, x: Tensor, size: int) -> float:
    """The share that the first features leave, the others' contributions left out."""
    y = trainee.scaling.apply(x)
    features = trainee.sparsity.features(y @ trainee.W_enc + trainee.b_enc)
    return fvu(y, (features[:, :size] @ trainee.W_dec[:size] + trainee.b_dec).detach())


@pytest.mark.parametrize("kind", ["topk", "batchtopk", "jumprelu"])
def test_a_transcoder_predicts_another_site_from_raw_activations(kind: Kind) -> None:
    """Output of other size and place; what is finished says the same as what was trained."""
    x = activations()
    turn = torch.randn(WIDTH, WIDTH, generator=torch.Generator().manual_seed(4))
    target = -3 + 0.2 * (x - 50) @ turn
    shape = replace(SHAPE, kind=kind, k=8)
    trainee = Trainee(shape, centre_and_scale(x), seed=0, out=centre_and_scale(target))
    for step in range(600):
        part = slice((step % 10) * 400, (step % 10 + 1) * 400)
        trainee.step(x[part], 1e-2 if step < 500 else 2e-3, target[part])
    finished = trainee.finished("mlp_in", 3, Origin(), "mlp_out")
    assert finished.is_transcoder
    assert not finished.subtract_b_dec
    assert fvu(target, finished.reconstruct(x)) < 0.35
    pre = trainee.scaling.apply(x) @ trainee.W_enc + trainee.b_enc
    active = finished.encode(x).dense(48)
    scale = trainee.out.scale if trainee.out else 1.0
    torch.testing.assert_close(
        active, (pre * scale).detach().where(active > 0, 0.0), rtol=1e-3, atol=1e-3
    )
    scaling, out = rescued(trainee.state())
    assert out is not None
    assert torch.equal(scaling.mean, trainee.scaling.mean)


def test_a_cap_keeps_features_from_being_dense() -> None:
    """A direction that is in every token makes a dense feature, unless there is a cap."""
    draw = torch.Generator().manual_seed(2)
    always = 40 * torch.rand(4000, 1, generator=draw) @ torch.ones(1, WIDTH)
    x = activations() + always
    dense, trainee = [], trained(0)
    for cap in (None, 0.25):
        shape = replace(SHAPE, kind="batchtopk", cap=cap)
        trainee = Trainee(shape, centre_and_scale(x), seed=0)
        for step in range(400):
            trainee.step(x[(step % 10) * 400 :][:400], 5e-3)
        dense.append(float(trainee.rate.max()))
        share = (trainee.finished("post_block", 0, Origin()).encode(x).dense(48) > 0).float()
        assert float(share.mean(0).max()) == pytest.approx(dense[-1], abs=0.1)
    assert dense[0] > 0.4
    assert dense[1] < 0.3
    assert trainee.dense == int((trainee.rate > 0.1).sum())
