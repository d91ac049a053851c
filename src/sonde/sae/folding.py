"""Scales that a file keeps apart, folded into the weights once and then forgotten."""

from dataclasses import replace

from sonde.sae.autoencoder import Autoencoder


def fold_factor(autoencoder: Autoencoder, factor: float) -> Autoencoder:
    """The same dictionary for activations that were multiplied by `factor` before it saw them."""
    return replace(
        autoencoder,
        W_enc=autoencoder.W_enc * factor,
        W_dec=autoencoder.W_dec / factor,
        b_dec=autoencoder.b_dec / factor,
    )


def fold_decoder_norms(autoencoder: Autoencoder) -> Autoencoder:
    """The same reconstruction from decoder rows of length 1: features carry the length instead.

    For a ReLU or TopK dictionary without a threshold. TopK then selects by what a feature adds to
    the reconstruction.
    """
    norms = autoencoder.W_dec.norm(dim=1)
    return replace(
        autoencoder,
        W_enc=autoencoder.W_enc * norms,
        b_enc=autoencoder.b_enc * norms,
        W_dec=autoencoder.W_dec / norms.where(norms > 0, 1.0)[:, None],
    )
