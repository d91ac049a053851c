"""One autoencoder in training: it learns, keeps its promises, and revives what is silent."""

import torch
from torch import Tensor

from sonde.sae.autoencoder import Origin
from sonde.sae.trainee import Shape, Trainee, centre_and_scale
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
    trainee = Trainee(shape, *centre_and_scale(x), seed=0)
    for step in range(steps):
        trainee.step(x[(step % 10) * 400 :][:400], 5e-3)
    return trainee


def test_the_unexplained_share_falls() -> None:
    x = activations()
    trainee = Trainee(SHAPE, *centre_and_scale(x), seed=0)
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
    y = (x - trainee.mean) / trainee.scale
    pre = (y - trainee.b_dec) @ trainee.W_enc + trainee.b_enc
    values, indices = pre.topk(SHAPE.k)
    dense = torch.zeros_like(pre).scatter(1, indices, values.relu())
    rebuilt = (dense @ trainee.W_dec + trainee.b_dec) * trainee.scale + trainee.mean
    torch.testing.assert_close(finished.reconstruct(x), rebuilt.detach(), rtol=1e-4, atol=1e-3)
    assert fvu(x, finished.reconstruct(x)) < 0.2
    assert (finished.hook, finished.layer) == ("post_block", 3)


def test_centre_and_scale_make_activations_comparable() -> None:
    x = activations()
    mean, scale = centre_and_scale(x)
    scaled = (x - mean) / scale
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
    trainee = Trainee(SHAPE, torch.zeros(WIDTH), torch.ones(()), seed=0)
    x = activations()[:400] - 50
    trainee.step(x, 0.0)
    assert set(trainee.silent_for.tolist()) <= {0, 400}
    trainee.silent_for[:] = 0
    trainee.silent_for[:12] = SHAPE.silent_after
    assert trainee.dead == 0.25


def test_a_restored_trainee_goes_on_bit_for_bit() -> None:
    x, one = activations(), trained(30)
    state = {name: tensor.clone() for name, tensor in one.state().items()}
    other = Trainee(SHAPE, state["mean"], state["scale"], seed=7)
    other.restore(state)
    for trainee in (one, other):
        for _ in range(3):
            trainee.step(x[:400], 2e-3)
    for name, tensor in one.state().items():
        assert torch.equal(tensor, other.state()[name]), name
