"""Qwen-Scope files: both matrices transposed, k in the folder's name, nothing subtracted."""

from pathlib import Path

import numpy as np
import pytest
import torch

from sonde.errors import BadWeights, NotSaid
from sonde.sae.load import load_autoencoder
from tests.sae.formulas import D_IN, K, activations, agree, drawn, saved, top, wide

FOLDER = f"SAE-Res-Qwen3-1.7B-Base-W1K-L0_{K}"
WIDTH = 1024


def file(path: Path, d_sae: int = WIDTH, d_in: int = D_IN) -> Path:
    shapes = {"W_enc": (d_sae, d_in), "W_dec": (d_in, d_sae), "b_enc": (d_sae,), "b_dec": (d_in,)}
    return saved(drawn(1, **shapes), path)


def test_a_layer_file_encodes_and_decodes_as_its_card_says(tmp_path: Path) -> None:
    path = file(tmp_path / FOLDER / "layer13.sae.pt")
    w, x = (
        wide(drawn(1, W_enc=(WIDTH, D_IN), W_dec=(D_IN, WIDTH), b_enc=(WIDTH,), b_dec=(D_IN,))),
        activations(),
    )
    features = top(x.astype(np.float64) @ w["W_enc"].T + w["b_enc"], K)

    loaded = load_autoencoder(path)

    agree(loaded, x, features, features @ w["W_dec"].T + w["b_dec"])
    assert (loaded.hook, loaded.layer, loaded.d_sae) == ("post_block", 13, WIDTH)
    assert loaded.origin.model == "Qwen/Qwen3-1.7B-Base"
    assert len(loaded.origin.sha256 or "") == 64


def test_a_token_with_fewer_than_k_positive_features_has_fewer_active(tmp_path: Path) -> None:
    arrays = drawn(1, W_enc=(WIDTH, D_IN), W_dec=(D_IN, WIDTH), b_enc=(WIDTH,), b_dec=(D_IN,))
    arrays["b_enc"] -= 12
    loaded = load_autoencoder(saved(arrays, tmp_path / FOLDER / "layer0.sae.pt"))

    counts = loaded.encode(torch.from_numpy(activations())).n_active

    assert 0 < counts.float().mean() < K


def test_the_folder_is_found_inside_a_download_cache(tmp_path: Path) -> None:
    path = file(tmp_path / f"models--Qwen--{FOLDER}" / "snapshots" / "0a1b" / "layer2.sae.pt")

    assert load_autoencoder(path).k == K


def test_a_folder_of_layers_gives_the_one_that_is_asked_for(tmp_path: Path) -> None:
    for layer in (0, 7):
        file(tmp_path / FOLDER / f"layer{layer}.sae.pt")

    assert load_autoencoder(tmp_path / FOLDER, layer=7).layer == 7


def test_k_is_never_guessed(tmp_path: Path) -> None:
    path = file(tmp_path / "layer3.sae.pt")

    with pytest.raises(NotSaid, match="pass k="):
        load_autoencoder(path)
    assert load_autoencoder(path, k=3).k == 3


def test_a_width_unlike_the_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadWeights, match=r"has 40 features.*W1K"):
        load_autoencoder(file(tmp_path / FOLDER / "layer3.sae.pt", d_sae=40))


def test_canonical_orientation_is_told_from_the_biases(tmp_path: Path) -> None:
    path = file(tmp_path / "a" / "x.pt", d_sae=D_IN, d_in=40)  # W_enc [12, 40], b_enc [12]
    arrays = drawn(1, W_enc=(D_IN, 40), W_dec=(40, D_IN), b_enc=(40,), b_dec=(D_IN,))
    other = saved(arrays, tmp_path / "b" / "x.pt")

    assert load_autoencoder(path, k=3).d_in == 40
    assert load_autoencoder(other, k=3).d_in == D_IN


def test_a_square_dictionary_is_refused_unless_its_name_says_which_way_round(
    tmp_path: Path,
) -> None:
    with pytest.raises(NotSaid, match="either way round"):
        load_autoencoder(file(tmp_path / "layer1.sae.pt", d_sae=32, d_in=32), k=3)
    loaded = load_autoencoder(file(tmp_path / FOLDER / "layer1.sae.pt", d_in=WIDTH))
    expected = drawn(1, W_enc=(WIDTH, WIDTH))["W_enc"].T

    assert loaded.W_enc.equal(torch.from_numpy(expected.copy()))


def test_one_transposed_matrix_is_refused(tmp_path: Path) -> None:
    arrays = drawn(1, W_enc=(40, D_IN), W_dec=(40, D_IN), b_enc=(40,), b_dec=(D_IN,))

    with pytest.raises(BadWeights, match=r"W_dec \[40, 12\].*expected"):
        load_autoencoder(saved(arrays, tmp_path / "layer1.sae.pt"), k=3)
