"""The one form all dictionaries have: encode, decode, loss, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from sonde.errors import BadRequest
from sonde.sae.activations import JumpRelu, Relu, TopK
from tests.sae.formulas import D_IN, D_OUT, D_SAE, K, activations, agree, dictionary, top, wide

X = torch.from_numpy(activations())


def test_encode_and_decode_are_the_formulas() -> None:
    sae, x = dictionary(subtract_b_dec=True), activations()
    w = wide({name: each.numpy() for name, each in sae.tensors().items()})
    features = top((x - w["b_dec"]) @ w["W_enc"] + w["b_enc"], K)

    agree(sae, x, features, features @ w["W_dec"] + w["b_dec"])


def test_the_loss_is_the_sum_over_the_width() -> None:
    sae = dictionary(subtract_b_dec=True)
    rest = X.double() - sae.reconstruct(X).double()

    torch.testing.assert_close(sae.reconstruction_loss(X), rest.square().sum(1).float())


@pytest.mark.parametrize("activation", [TopK(K), Relu(), JumpRelu(torch.full((D_SAE,), 1.0))])
@pytest.mark.parametrize("k", [1, 3, K, D_SAE])
def test_top_features_are_those_of_a_full_sort(activation: TopK | Relu | JumpRelu, k: int) -> None:
    sae = dictionary(activation)
    values, order = sae.encode(X).dense(D_SAE).sort(dim=1, descending=True, stable=True)

    indices, found = sae.top_features(X, k)

    width = found.shape[1]
    assert width <= k
    assert found.equal(values[:, :width])
    assert values[:, width:k].eq(0).all()
    active = found > 0
    assert indices[active].equal(order[:, :width][active])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_any_precision_is_read_and_computed_in_float32(dtype: torch.dtype) -> None:
    sae, x = dictionary(), X.to(dtype)

    assert sae.encode(x).values.equal(sae.encode(x.float()).values)
    assert sae.reconstruct(x).dtype == torch.float32


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("activation", [TopK(K), Relu()])
def test_a_token_that_is_not_finite_has_no_features_and_spoils_no_other(
    activation: TopK | Relu, bad: float
) -> None:
    sae, x = dictionary(activation), X.clone()
    x[3, 5] = bad

    found = sae.encode(x)

    others = torch.arange(len(x)) != 3
    assert found.n_active[3] == 0
    assert found.dense(D_SAE)[others].equal(sae.encode(X).dense(D_SAE)[others])
    loss = sae.reconstruction_loss(x)
    assert not loss[3].isfinite()
    assert loss[others].equal(sae.reconstruction_loss(X)[others])


def test_no_tokens_give_no_features() -> None:
    sae = dictionary()

    assert len(sae.encode(X[:0])) == 0
    assert sae.reconstruct(X[:0]).shape == (0, D_IN)
    assert sae.top_features(X[:0], 3)[0].shape == (0, 3)


@pytest.mark.parametrize("shape", [(5, D_IN + 1), (5,), (2, 5, D_IN)])
def test_activations_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(BadRequest, match=rf"expected \[tokens, {D_IN}\]"):
        dictionary().encode(torch.zeros(shape))


def test_a_norm_or_a_skip_path_needs_the_activations_to_decode() -> None:
    for sae in (dictionary(norm_in="layer_norm"), dictionary(W_skip=torch.eye(D_IN))):
        active = sae.encode(X)
        with pytest.raises(BadRequest, match=r"decode\(active, x\)"):
            sae.decode(active)
        assert sae.decode(active, X).equal(sae.reconstruct(X))


def test_a_transcoder_has_no_loss_against_its_own_input() -> None:
    narrow = replace(dictionary(), W_dec=torch.ones(D_SAE, D_OUT), b_dec=torch.ones(D_OUT))
    for sae in (narrow, dictionary(hook="mlp_in", hook_out="mlp_out")):
        assert sae.is_transcoder
        with pytest.raises(BadRequest, match="transcoder"):
            sae.reconstruction_loss(X)
    assert not dictionary(hook="post_block").is_transcoder
    assert narrow.reconstruct(X).shape == (len(X), D_OUT)


def test_all_tensors_move_together() -> None:
    sae = dictionary(JumpRelu(torch.ones(D_SAE)), W_skip=torch.eye(D_IN))

    moved = sae.to("meta")

    assert sorted(moved.tensors()) == ["W_dec", "W_enc", "W_skip", "b_dec", "b_enc", "threshold"]
    assert {each.device.type for each in moved.tensors().values()} == {"meta"}
    assert sae.device.type == "cpu"


def test_it_says_what_it_is() -> None:
    sae = dictionary(hook="post_block", layer=15)

    assert repr(sae) == "Autoencoder(12 → 40 topk, post_block, layer 15)"
    assert (sae.d_in, sae.d_sae, sae.d_out, sae.k) == (D_IN, D_SAE, D_IN, K)
    assert dictionary(Relu()).k is None


def test_the_budget_changes_no_bit() -> None:
    sae = dictionary(subtract_b_dec=True)
    x = torch.from_numpy(np.tile(activations(), (9, 1)))

    whole, small = sae.encode(x), sae.encode(x, budget_bytes=16 * 6 * D_SAE)

    assert small.values.equal(whole.values)
    assert small.indices.equal(whole.indices)
