"""SAELens folders, of version 6 and older, against the formulas of its classes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sonde.errors import BadWeights, DamagedFile, NotSaid
from sonde.sae.load import load_autoencoder
from tests.sae.formulas import (
    D_IN,
    D_OUT,
    D_SAE,
    Array,
    K,
    activations,
    agree,
    drawn,
    jump,
    relu,
    saved_safely,
    top,
    unit_rows,
    wide,
)

SHAPES: dict[str, tuple[int, ...]] = {
    "W_enc": (D_IN, D_SAE),
    "W_dec": (D_SAE, D_IN),
    "b_enc": (D_SAE,),
    "b_dec": (D_IN,),
}


def folder(path: Path, arrays: dict[str, Array], **config: Any) -> Path:
    saved_safely(arrays, path / "sae_weights.safetensors")
    about = {
        "sae_lens_version": "6.54.12",
        "model_name": "gpt2-small",
        "hook_name": "blocks.7.hook_resid_pre",
        "context_size": 128,
    }
    written = {
        "d_in": D_IN,
        "d_sae": D_SAE,
        "dtype": "float32",
        "device": "cpu",
        "apply_b_dec_to_input": True,
        "normalize_activations": "none",
        "reshape_activations": "none",
        "metadata": about,
        "architecture": "standard",
    } | config
    (path / "cfg.json").write_text(json.dumps(written))
    return path


def pre(w: dict[str, Array], y: Array) -> Array:
    out: Array = y @ w["W_enc"] + w["b_enc"]
    return out


def test_standard_subtracts_the_decoder_bias(tmp_path: Path) -> None:
    arrays, x = drawn(2, **SHAPES), activations()
    w = wide(arrays)
    features = relu(pre(w, x - w["b_dec"]))

    loaded = load_autoencoder(folder(tmp_path, arrays))

    agree(loaded, x, features, features @ w["W_dec"] + w["b_dec"])
    assert (loaded.hook, loaded.layer, loaded.origin.model) == ("pre_attn", 7, "gpt2-small")
    assert loaded.origin.notes["context_size"] == 128


def test_standard_without_subtraction(tmp_path: Path) -> None:
    arrays, x = drawn(2, **SHAPES), activations()
    w = wide(arrays)
    features = relu(pre(w, x.astype(np.float64)))

    loaded = load_autoencoder(folder(tmp_path, arrays, apply_b_dec_to_input=False))

    agree(loaded, x, features, features @ w["W_dec"] + w["b_dec"])


def test_topk(tmp_path: Path) -> None:
    arrays, x = drawn(3, **SHAPES), activations()
    w = wide(arrays)
    features = top(pre(w, x - w["b_dec"]), K)

    loaded = load_autoencoder(folder(tmp_path, arrays, architecture="topk", k=K))

    agree(loaded, x, features, features @ w["W_dec"] + w["b_dec"])


def test_topk_selected_by_decoder_length(tmp_path: Path) -> None:
    arrays, x = drawn(3, **SHAPES), activations()
    w = wide(arrays)
    lengths = unit_rows(w["W_dec"])
    features = top(pre(w, x - w["b_dec"]) * lengths, K)
    config = {"architecture": "topk", "k": K, "rescale_acts_by_decoder_norm": True}

    loaded = load_autoencoder(folder(tmp_path, arrays, **config))

    agree(loaded, x, features, features / lengths @ w["W_dec"] + w["b_dec"])


def test_jumprelu(tmp_path: Path) -> None:
    arrays, x = drawn(4, **SHAPES, threshold=(D_SAE,)), activations()
    w = wide(arrays)
    features = jump(pre(w, x - w["b_dec"]), w["threshold"])

    loaded = load_autoencoder(folder(tmp_path, arrays, architecture="jumprelu"))

    agree(loaded, x, features, features @ w["W_dec"] + w["b_dec"])


def test_gated_has_no_encoder_bias(tmp_path: Path) -> None:
    shapes = {name: shape for name, shape in SHAPES.items() if name != "b_enc"}
    arrays = drawn(5, **shapes, b_gate=(D_SAE,), b_mag=(D_SAE,), r_mag=(D_SAE,))
    w, x = wide(arrays), activations()
    y = x - w["b_dec"]
    gate = y @ w["W_enc"] + w["b_gate"] > 0
    features = gate * relu(y @ (w["W_enc"] * np.exp(w["r_mag"])) + w["b_mag"])

    loaded = load_autoencoder(folder(tmp_path, arrays, architecture="gated"))

    agree(loaded, x, features, features @ w["W_dec"] + w["b_dec"])


def test_layer_norm_is_undone_on_the_way_out(tmp_path: Path) -> None:
    arrays, x = drawn(6, **SHAPES), activations() * 3 + 1
    w, wide_x = wide(arrays), x.astype(np.float64)
    mean, std = wide_x.mean(1, keepdims=True), wide_x.std(1, ddof=1, keepdims=True)
    features = relu(pre(w, (wide_x - mean) / (std + 1e-5) - w["b_dec"]))

    loaded = load_autoencoder(folder(tmp_path, arrays, normalize_activations="layer_norm"))

    agree(loaded, x, features, (features @ w["W_dec"] + w["b_dec"]) * std + mean)


def test_constant_norm_is_undone_on_the_way_out(tmp_path: Path) -> None:
    arrays, x = drawn(6, **SHAPES), activations() * 3 + 1
    w, wide_x = wide(arrays), x.astype(np.float64)
    scale = D_IN**0.5 / np.linalg.norm(wide_x, axis=1, keepdims=True)
    features = relu(pre(w, wide_x * scale - w["b_dec"]))

    config = {"normalize_activations": "constant_norm_rescale"}
    loaded = load_autoencoder(folder(tmp_path, arrays, **config))

    agree(loaded, x, features, (features @ w["W_dec"] + w["b_dec"]) / scale)


def test_an_average_norm_needs_the_factor_that_is_not_in_the_file(tmp_path: Path) -> None:
    arrays, x = drawn(6, **SHAPES), activations()
    w = wide(arrays)
    path = folder(tmp_path, arrays, normalize_activations="expected_average_only_in")
    features = relu(pre(w, 0.25 * x - w["b_dec"]))

    with pytest.raises(NotSaid, match="factor="):
        load_autoencoder(path)
    loaded = load_autoencoder(path, factor=0.25)

    agree(loaded, x, features, (features @ w["W_dec"] + w["b_dec"]) / 0.25)


@pytest.mark.parametrize("skip", [False, True])
def test_a_transcoder_writes_another_width(tmp_path: Path, skip: bool) -> None:
    shapes = SHAPES | {"W_dec": (D_SAE, D_OUT), "b_dec": (D_OUT,), "threshold": (D_SAE,)}
    arrays = drawn(8, **shapes | ({"W_skip": (D_OUT, D_IN)} if skip else {}))
    w, x = wide(arrays), activations()
    features = jump(pre(w, x.astype(np.float64)), w["threshold"])
    expected = features @ w["W_dec"] + w["b_dec"] + (x @ w["W_skip"].T if skip else 0)
    about = {"hook_name": "blocks.3.ln2.hook_normalized", "hook_name_out": "blocks.3.hook_mlp_out"}
    name = "jumprelu_skip_transcoder" if skip else "jumprelu_transcoder"

    path = folder(tmp_path, arrays, architecture=name, d_out=D_OUT, metadata=about)
    loaded = load_autoencoder(path)

    agree(loaded, x, features, expected)
    assert (loaded.hook, loaded.hook_out, loaded.layer) == ("mlp_in", "mlp_out", 3)
    assert loaded.is_transcoder


def older(path: Path, arrays: dict[str, Array], **config: Any) -> Path:
    saved_safely(arrays, path / "sae_weights.safetensors")
    written = {"d_in": D_IN, "d_sae": D_SAE, "hook_point": "blocks.2.hook_mlp_out"} | config
    (path / "cfg.json").write_text(json.dumps(written))
    return path


def test_an_older_configuration_is_standard_and_subtracts_by_default(tmp_path: Path) -> None:
    arrays = drawn(2, **SHAPES)
    arrays["scaling_factor"] = np.ones(D_SAE, np.float32)
    w, x = wide(arrays), activations()
    features = relu(pre(w, x - w["b_dec"]))

    loaded = load_autoencoder(
        older(tmp_path, arrays, model_name="gpt2-small", normalize_activations=False)
    )

    agree(loaded, x, features, features @ w["W_dec"] + w["b_dec"])
    assert (loaded.hook, loaded.layer, loaded.origin.model) == ("mlp_out", 2, "gpt2-small")


def test_an_older_configuration_names_topk_as_its_activation_function(tmp_path: Path) -> None:
    arrays, x = drawn(3, **SHAPES), activations()
    w = wide(arrays)
    features = top(pre(w, x - w["b_dec"]), K)
    config = {"activation_fn_str": "topk", "activation_fn_kwargs": {"k": K}}

    loaded = load_autoencoder(older(tmp_path, arrays, architecture="standard", **config))

    agree(loaded, x, features, features @ w["W_dec"] + w["b_dec"])


def test_an_older_truth_value_means_the_average_norm(tmp_path: Path) -> None:
    with pytest.raises(NotSaid, match="factor="):
        load_autoencoder(older(tmp_path, drawn(2, **SHAPES), normalize_activations=True))


def test_a_finetuned_scale_acts_on_the_way_out_only(tmp_path: Path) -> None:
    arrays = drawn(2, **SHAPES, scaling_factor=(D_SAE,))
    w, x = wide(arrays), activations()
    features = relu(pre(w, x - w["b_dec"]))

    loaded = load_autoencoder(older(tmp_path, arrays, finetuning_scaling_factor=True))

    agree(loaded, x, features, features * w["scaling_factor"] @ w["W_dec"] + w["b_dec"])
    with pytest.raises(BadWeights, match="scaling_factor"):
        load_autoencoder(older(tmp_path, arrays))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"architecture": "temporal"}, r"architecture 'temporal', expected one of"),
        ({"normalize_activations": "covariance_whitening"}, "covariance_whitening"),
        ({"d_sae": 41}, "d_sae is 41, and the weights have 40"),
        ({"architecture": "jumprelu"}, r"expected tensors \['threshold'\]"),
        ({"architecture": "topk", "k": 41}, "k is 41, expected 1 to 40"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, config: Any, message: str) -> None:
    with pytest.raises(BadWeights, match=message):
        load_autoencoder(folder(tmp_path, drawn(2, **SHAPES), **config))


def test_topk_without_k_asks_for_it(tmp_path: Path) -> None:
    with pytest.raises(NotSaid, match="pass k="):
        load_autoencoder(folder(tmp_path, drawn(2, **SHAPES), architecture="topk"))


def test_a_setting_of_the_wrong_type_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DamagedFile, match="apply_b_dec_to_input is 'yes'"):
        load_autoencoder(folder(tmp_path, drawn(2, **SHAPES), apply_b_dec_to_input="yes"))
