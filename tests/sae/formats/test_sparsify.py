"""sparsify folders: the module in the folder's name, 0 features as a default, transcoders."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sonde.errors import BadWeights, NotSaid
from sonde.sae.load import load_autoencoder
from tests.sae.formulas import (
    D_IN,
    Array,
    K,
    activations,
    agree,
    drawn,
    relu,
    saved_safely,
    top,
    wide,
)

EXPANSION, D_SAE = 4, 48
SHAPES: dict[str, tuple[int, ...]] = {
    "encoder.weight": (D_SAE, D_IN),
    "encoder.bias": (D_SAE,),
    "W_dec": (D_SAE, D_IN),
    "b_dec": (D_IN,),
}


def folder(path: Path, arrays: dict[str, Array], **config: Any) -> Path:
    saved_safely(arrays, path / "sae.safetensors")
    written = {
        "activation": "topk",
        "expansion_factor": EXPANSION,
        "normalize_decoder": True,
        "num_latents": 0,
        "k": K,
        "multi_topk": False,
        "skip_connection": False,
        "transcode": False,
        "d_in": D_IN,
    } | config
    (path / "cfg.json").write_text(json.dumps(written))
    return path


def test_the_bias_is_always_subtracted_and_0_features_mean_the_expansion(tmp_path: Path) -> None:
    arrays, x = drawn(11, **SHAPES), activations()
    w = wide(arrays)
    features = top((x - w["b_dec"]) @ w["encoder.weight"].T + w["encoder.bias"], K)

    loaded = load_autoencoder(folder(tmp_path / "layers.15.mlp", arrays, normalize_decoder=False))

    agree(loaded, x, features, features @ w["W_dec"] + w["b_dec"])
    assert (loaded.hook, loaded.hook_out, loaded.layer) == ("mlp_out", None, 15)


def test_groupmax_keeps_the_largest_of_each_group(tmp_path: Path) -> None:
    arrays, x = drawn(12, **SHAPES), activations()
    w = wide(arrays)
    pre = relu((x - w["b_dec"]) @ w["encoder.weight"].T + w["encoder.bias"])
    groups = pre.reshape(len(x), 6, -1)
    features = np.where(groups == groups.max(2, keepdims=True), groups, 0).reshape(pre.shape)

    loaded = load_autoencoder(
        folder(tmp_path / "layers.3", arrays, activation="groupmax", k=6, num_latents=D_SAE)
    )

    agree(loaded, x, features, features @ w["W_dec"] + w["b_dec"])
    assert (loaded.hook, loaded.layer) == ("post_block", 3)


def test_a_skip_transcoder_reads_the_modules_input(tmp_path: Path) -> None:
    arrays, x = drawn(13, **SHAPES, W_skip=(D_IN, D_IN)), activations()
    w = wide(arrays)
    features = top(x @ w["encoder.weight"].T + w["encoder.bias"], K)
    expected = features @ w["W_dec"] + w["b_dec"] + x @ w["W_skip"].T

    loaded = load_autoencoder(
        folder(tmp_path / "model.layers.18.mlp", arrays, transcode=True, skip_connection=True)
    )

    agree(loaded, x, features, expected)
    assert (loaded.hook, loaded.hook_out, loaded.layer) == ("mlp_in", "mlp_out", 18)


def test_half_precision_weights_are_read_as_the_numbers_they_are(tmp_path: Path) -> None:
    arrays = {name: array.astype(np.float16) for name, array in drawn(11, **SHAPES).items()}
    w, x = wide(arrays), activations()
    features = top((x - w["b_dec"]) @ w["encoder.weight"].T + w["encoder.bias"], K)

    loaded = load_autoencoder(folder(tmp_path / "layers.0", arrays))

    agree(loaded, x, features, features @ w["W_dec"] + w["b_dec"])


def test_the_folder_above_names_the_model(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model": "HuggingFaceTB/SmolLM2-135M"}')

    loaded = load_autoencoder(folder(tmp_path / "layers.0", drawn(11, **SHAPES)))

    assert loaded.origin.model == "HuggingFaceTB/SmolLM2-135M"


def test_a_file_of_the_folder_stands_for_it(tmp_path: Path) -> None:
    path = folder(tmp_path / "layers.0", drawn(11, **SHAPES))

    for name in ("sae.safetensors", "cfg.json"):
        assert load_autoencoder(path / name).layer == 0


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"num_latents": 47}, r"says 12 → 47, and the weights are 12 → 48"),
        ({"expansion_factor": 8}, r"says 12 → 96"),
        ({"activation": "relu"}, "activation 'relu'"),
        ({"signed": True}, "signed"),
        ({"k": 49}, "k is 49, expected 1 to 48"),
        ({"activation": "groupmax", "k": 5}, "48 features do not make 5 equal groups"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, config: Any, message: str) -> None:
    with pytest.raises(BadWeights, match=message):
        load_autoencoder(folder(tmp_path / "layers.0", drawn(11, **SHAPES), **config))


def test_a_missing_k_is_asked_for(tmp_path: Path) -> None:
    path = folder(tmp_path / "layers.0", drawn(11, **SHAPES), k=None)

    with pytest.raises(NotSaid, match="pass k="):
        load_autoencoder(path)
    assert load_autoencoder(path, k=2).k == 2
