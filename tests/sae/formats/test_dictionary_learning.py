"""dictionary_learning folders: the seven classes, each with its own names and formula."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sonde.errors import BadWeights, NotSaid
from sonde.sae.load import load_autoencoder
from tests.sae.formulas import (
    D_IN,
    D_SAE,
    Array,
    K,
    activations,
    agree,
    drawn,
    jump,
    relu,
    saved,
    top,
    unit_rows,
    wide,
)

LINEAR: dict[str, tuple[int, ...]] = {
    "encoder.weight": (D_SAE, D_IN),
    "encoder.bias": (D_SAE,),
    "decoder.weight": (D_IN, D_SAE),
}
CANONICAL: dict[str, tuple[int, ...]] = {
    "W_enc": (D_IN, D_SAE),
    "b_enc": (D_SAE,),
    "W_dec": (D_SAE, D_IN),
    "b_dec": (D_IN,),
}
THRESHOLD = 0.6


def folder(path: Path, kind: str, arrays: dict[str, Array], **trainer: Any) -> Path:
    saved(arrays, path / "ae.pt")
    about = {
        "dict_class": kind,
        "layer": 8,
        "lm_name": "EleutherAI/pythia-160m-deduped",
        "activation_dim": D_IN,
        "dict_size": D_SAE,
        "submodule_name": "resid_post_layer_8",
    } | trainer
    (path / "config.json").write_text(json.dumps({"trainer": about, "buffer": {"ctx_len": 1024}}))
    return path


def with_numbers(arrays: dict[str, Array], threshold: float = THRESHOLD) -> dict[str, Array]:
    numbers = {"k": np.array(K, np.int32), "threshold": np.array(threshold, np.float32)}
    return arrays | numbers


def test_auto_encoder_reports_features_with_unit_decoder_rows(tmp_path: Path) -> None:
    arrays, x = drawn(41, **LINEAR, bias=(D_IN,)), activations()
    w = wide(arrays)
    plain = relu((x - w["bias"]) @ w["encoder.weight"].T + w["encoder.bias"])
    lengths = unit_rows(w["decoder.weight"].T)

    loaded = load_autoencoder(folder(tmp_path, "AutoEncoder", arrays))

    agree(loaded, x, plain * lengths, plain @ w["decoder.weight"].T + w["bias"])
    assert (loaded.hook, loaded.layer) == ("post_block", 8)
    assert loaded.origin.model == "EleutherAI/pythia-160m-deduped"
    assert loaded.origin.notes == {"dict_class": "AutoEncoder"}


def test_auto_encoder_new_subtracts_nothing(tmp_path: Path) -> None:
    arrays, x = drawn(42, **LINEAR | {"decoder.bias": (D_IN,)}), activations()
    w = wide(arrays)
    plain = relu(x @ w["encoder.weight"].T + w["encoder.bias"])
    lengths = unit_rows(w["decoder.weight"].T)

    loaded = load_autoencoder(folder(tmp_path, "AutoEncoderNew", arrays))

    agree(loaded, x, plain * lengths, plain @ w["decoder.weight"].T + w["decoder.bias"])


def test_top_k_ignores_the_threshold_it_carries(tmp_path: Path) -> None:
    arrays, x = drawn(43, **LINEAR, b_dec=(D_IN,)), activations()
    w = wide(arrays)
    features = top((x - w["b_dec"]) @ w["encoder.weight"].T + w["encoder.bias"], K)

    loaded = load_autoencoder(folder(tmp_path, "AutoEncoderTopK", with_numbers(arrays, 99), k=K))

    agree(loaded, x, features, features @ w["decoder.weight"].T + w["b_dec"])


def test_batch_top_k_is_a_threshold(tmp_path: Path) -> None:
    arrays, x = drawn(44, **LINEAR, b_dec=(D_IN,)), activations()
    w = wide(arrays)
    pre = (x - w["b_dec"]) @ w["encoder.weight"].T + w["encoder.bias"]
    features = jump(relu(pre), THRESHOLD)

    loaded = load_autoencoder(folder(tmp_path, "BatchTopKSAE", with_numbers(arrays), k=K))

    agree(loaded, x, features, features @ w["decoder.weight"].T + w["b_dec"])


def test_matryoshka_is_batch_top_k_in_canonical_orientation(tmp_path: Path) -> None:
    arrays, x = drawn(45, **CANONICAL), activations()
    w = wide(arrays)
    features = jump((x - w["b_dec"]) @ w["W_enc"] + w["b_enc"], THRESHOLD)
    held = with_numbers(arrays) | {"group_sizes": np.array([10, 30])}

    loaded = load_autoencoder(folder(tmp_path, "MatryoshkaBatchTopKSAE", held, k=K))

    agree(loaded, x, features, features @ w["W_dec"] + w["b_dec"])


def test_gated(tmp_path: Path) -> None:
    shapes = {name: shape for name, shape in LINEAR.items() if name != "encoder.bias"}
    biases = dict.fromkeys(("gate_bias", "mag_bias", "r_mag"), (D_SAE,))
    arrays, x = drawn(46, **shapes, **biases, decoder_bias=(D_IN,)), activations()
    w = wide(arrays)
    z = (x - w["decoder_bias"]) @ w["encoder.weight"].T
    features = (z + w["gate_bias"] > 0) * relu(np.exp(w["r_mag"]) * z + w["mag_bias"])

    loaded = load_autoencoder(folder(tmp_path, "GatedAutoEncoder", arrays))

    agree(loaded, x, features, features @ w["decoder.weight"].T + w["decoder_bias"])


def test_jump_relu_subtracts_nothing(tmp_path: Path) -> None:
    arrays, x = drawn(47, **CANONICAL, threshold=(D_SAE,)), activations()
    w = wide(arrays)
    features = jump(x @ w["W_enc"] + w["b_enc"], w["threshold"])

    loaded = load_autoencoder(folder(tmp_path, "JumpReluAutoEncoder", arrays))

    agree(loaded, x, features, features @ w["W_dec"] + w["b_dec"])


def test_a_threshold_that_was_never_set_needs_a_k(tmp_path: Path) -> None:
    arrays = drawn(44, **LINEAR, b_dec=(D_IN,))
    path = folder(tmp_path, "BatchTopKSAE", with_numbers(arrays, -1), k=K)

    with pytest.raises(NotSaid, match=r"never set \(-1\); pass k="):
        load_autoencoder(path)
    assert load_autoencoder(path, k=3).activation.kind == "topk"


def test_k_of_the_configuration_serves_where_the_weights_have_none(tmp_path: Path) -> None:
    arrays = drawn(43, **LINEAR, b_dec=(D_IN,))

    assert load_autoencoder(folder(tmp_path / "a", "AutoEncoderTopK", arrays, k=7)).k == 7
    with pytest.raises(NotSaid, match="pass k="):
        load_autoencoder(folder(tmp_path / "b", "AutoEncoderTopK", arrays))


@pytest.mark.parametrize(
    ("module", "hook"),
    [(None, "post_block"), ("resid_post_layer_8", "post_block"), ("mlp_out_layer_8", "mlp_out")],
)
def test_the_submodule_says_the_hook(tmp_path: Path, module: str | None, hook: str) -> None:
    arrays = drawn(41, **LINEAR, bias=(D_IN,))

    loaded = load_autoencoder(folder(tmp_path, "AutoEncoder", arrays, submodule_name=module))

    assert loaded.hook == hook


def test_an_unknown_class_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadWeights, match="dict_class 'IdentityDict', expected one of"):
        load_autoencoder(folder(tmp_path, "IdentityDict", drawn(41, **LINEAR)))


def test_a_missing_bias_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadWeights, match=r"expected tensors .*'bias'.*found"):
        load_autoencoder(folder(tmp_path, "AutoEncoder", drawn(41, **LINEAR)))
