"""What moved between two sets of weights, and what of it hangs on one feature."""

import numpy as np
import pytest
import torch

from sonde.backends.base import Backend
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.loading.fingerprint import fingerprint
from sonde.backends.torch.loading.loaded import Loaded
from sonde.sae.activations import TopK
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.gained import Text, Undone, moves, read, undone
from sonde.sae.together import undone_together
from tests.tiny_model import SENTENCES, tiny_llama, tiny_tokenizer

LAYER, WIDTH = 1, 16


def loaded(shift: torch.Tensor | None = None) -> Backend:
    """The tiny model; with a shift, one whose last layer adds that to every position."""
    model = tiny_llama()
    if shift is not None:
        mlp = model.model.layers[LAYER].mlp.down_proj
        mlp.bias = torch.nn.Parameter(shift.clone())
    name = fingerprint(model)
    return TorchBackend(Loaded("tiny", model, tiny_tokenizer(), name, "float32", "cpu"))


@pytest.fixture(scope="module")
def sae() -> Autoencoder:
    """All directions of a basis, each always active: it rebuilds whatever it reads."""
    rows = torch.linalg.qr(torch.randn(WIDTH, WIDTH, generator=torch.Generator().manual_seed(1)))[0]
    return Autoencoder(
        W_enc=rows.T.contiguous(),
        b_enc=torch.full((WIDTH,), 30.0),
        W_dec=rows,
        b_dec=-30.0 * rows.sum(0),
        activation=TopK(WIDTH),
        hook="post_block",
        layer=LAYER,
    )


@pytest.fixture(scope="module")
def texts() -> list[Text]:
    tokenizer = tiny_tokenizer()
    return [Text(tuple(tokenizer(each)["input_ids"]), 5) for each in SENTENCES]


def test_a_change_along_one_direction_is_that_feature_and_all_of_the_gain(
    sae: Autoencoder, texts: list[Text]
) -> None:
    """Put back, every token has the log-probability that it had before."""
    saes = {LAYER: sae}
    before = read(loaded(), texts, saes)
    changed = loaded(0.75 * sae.W_dec[4])
    after = read(changed, texts, saes)
    first, *others = moves(before, after, saes)
    assert (first.layer, first.feature) == (LAYER, 4)
    assert len(first.strength) == sum(len(text.places) for text in texts)
    assert list(first.activation.values()) == pytest.approx(
        [0.75] * len(first.activation), abs=1e-4
    )
    assert all(each.pull < 1e-3 * first.pull for each in others)
    found = undone(changed, texts, after, saes, [first], draws=3, seed=0, say=lambda _line: None)
    gain = sum((new - old).sum() for old, new in zip(before.logprobs, after.logprobs, strict=True))
    assert found[LAYER, 4].effect == pytest.approx(gain, abs=1e-3)
    assert len(set(found[LAYER, 4].random)) == 3


def test_the_layer_that_changed_takes_all_of_the_gain_and_the_one_before_it_nothing(
    sae: Autoencoder, texts: list[Text]
) -> None:
    """And all of its features at once take the same, where they explain all of it."""
    saes = {LAYER: sae}
    before = read(loaded(), texts, saes, range(2))
    changed = loaded(0.75 * sae.W_dec[4] - 0.5 * sae.W_dec[7])
    after = read(changed, texts, saes, range(2))
    gain = sum((new - old).sum() for old, new in zip(before.logprobs, after.logprobs, strict=True))
    found = undone_together(
        changed, texts, before, after, saes, moves(before, after, saes),
        draws=3, seed=0, say=lambda _line: None,
    )  # fmt: skip
    assert list(found) == [(0, "all + error"), (1, "all + error"), (1, "all features")]
    assert found[0, "all + error"] == Undone(0.0, (0.0, 0.0, 0.0))
    bare = read(changed, texts, saes)
    assert undone_together(
        changed, texts, bare, bare, saes, [], draws=3, seed=0, say=lambda _line: None
    ) == {}, "layers that nobody read"  # fmt: skip
    for what in ("all + error", "all features"):
        assert found[1, what].effect == pytest.approx(gain, abs=1e-3)
        assert len(set(found[1, what].random)) == 3


def test_between_the_same_weights_nothing_moved(sae: Autoencoder, texts: list[Text]) -> None:
    model = loaded()
    one, other = read(model, texts, {LAYER: sae}), read(model, texts, {LAYER: sae})
    assert moves(one, other, {LAYER: sae}) == []
    assert all(np.array_equal(a, b) for a, b in zip(one.logprobs, other.logprobs, strict=True))
    assert undone(model, texts, other, {LAYER: sae}, [], draws=2, seed=0, say=print) == {}


def test_without_dictionaries_there_are_tokens_only(texts: list[Text]) -> None:
    reading = read(loaded(), texts, {})
    assert reading.active == {}
    assert [len(each) for each in reading.logprobs] == [len(text.places) for text in texts]
