"""A probe tells a dictionary that fits from one at the wrong hook."""

import warnings

import pytest
import torch

from sonde.errors import BadRequest
from sonde.sae.activations import TopK
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.probe import BATCH, PoorFit, probe
from tests.sae.reading import WIDTH, mirror


def drawn(tokens: int = 200) -> torch.Tensor:
    return torch.randn(tokens, WIDTH, generator=torch.Generator().manual_seed(0))


def test_a_perfect_fit_explains_everything_and_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        health = probe(mirror(3), drawn())

    assert health.fvu == pytest.approx(0, abs=1e-12)
    assert health.cosine == pytest.approx(1)
    assert (health.l0, health.dead, health.tokens) == (WIDTH, 0, 200)


def test_a_fit_worse_than_the_mean_warns_and_names_the_hook() -> None:
    with pytest.warns(PoorFit, match=r"FVU 4.*post_block, layer 3"):
        health = probe(mirror(3, scale=-1), drawn())

    assert health.fvu == pytest.approx(4, rel=0.05)


def test_dead_features_are_counted() -> None:
    sae = mirror(3)
    sae.b_enc[:8] = -100

    assert probe(sae, drawn()).dead == 0.25


def test_many_tokens_are_read_in_batches() -> None:
    x = drawn(BATCH + 100)

    assert probe(mirror(3), x).tokens == BATCH + 100


def test_a_transcoder_is_compared_with_its_target() -> None:
    x = drawn()
    sae = mirror(3, scale=3)

    assert probe(sae, x, 3 * x).fvu == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("shape", "target"), [((5, 3), None), ((0, WIDTH), None), ((5, WIDTH), (4, WIDTH))]
)
def test_what_does_not_fit_is_refused(
    shape: tuple[int, int], target: tuple[int, int] | None
) -> None:
    with pytest.raises(BadRequest, match="expected"):
        probe(mirror(3), torch.zeros(shape), None if target is None else torch.zeros(target))


def test_a_topk_probe_counts_k() -> None:
    sae = mirror(3)
    narrow = Autoencoder(sae.W_enc, sae.b_enc, sae.W_dec, sae.b_dec, activation=TopK(4))

    assert probe(narrow, drawn()).l0 == 4
