"""Folding a scale into the weights changes the numbers inside, never what comes out."""

import torch

from sonde.sae.activations import Relu
from sonde.sae.folding import fold_decoder_norms, fold_factor
from tests.sae.formulas import activations, dictionary

X = torch.from_numpy(activations())


def test_a_factor_scales_what_is_read_and_unscales_what_is_written() -> None:
    sae = dictionary(Relu(), subtract_b_dec=True)

    folded = fold_factor(sae, 0.25)

    torch.testing.assert_close(folded.encode(X).dense(40), sae.encode(X / 4).dense(40))
    torch.testing.assert_close(
        folded.reconstruct(X), sae.reconstruct(X / 4) * 4, rtol=1e-5, atol=1e-4
    )


def test_decoder_lengths_move_into_the_features() -> None:
    sae = dictionary(Relu(), subtract_b_dec=True)
    lengths = sae.W_dec.norm(dim=1)

    folded = fold_decoder_norms(sae)

    torch.testing.assert_close(folded.W_dec.norm(dim=1), torch.ones(40))
    torch.testing.assert_close(
        folded.encode(X).dense(40), sae.encode(X).dense(40) * lengths, rtol=1e-5, atol=1e-5
    )
    torch.testing.assert_close(folded.reconstruct(X), sae.reconstruct(X), rtol=1e-5, atol=1e-4)


def test_a_feature_without_a_direction_stays_finite_and_silent() -> None:
    sae = dictionary(Relu())
    sae.W_dec[5] = 0

    folded = fold_decoder_norms(sae)

    assert folded.W_dec.isfinite().all()
    assert folded.encode(X).dense(40)[:, 5].eq(0).all()
