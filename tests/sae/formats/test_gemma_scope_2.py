"""Gemma Scope 2 folders: lower-case names, the module in the configuration, an affine skip."""

import json
from pathlib import Path
from typing import Any

import pytest

from sonde.errors import BadWeights
from sonde.sae.load import load_autoencoder
from tests.sae.formulas import (
    D_IN,
    D_OUT,
    D_SAE,
    Array,
    activations,
    agree,
    drawn,
    jump,
    saved_safely,
    wide,
)

SHAPES: dict[str, tuple[int, ...]] = {
    "w_enc": (D_IN, D_SAE),
    "w_dec": (D_SAE, D_IN),
    "b_enc": (D_SAE,),
    "b_dec": (D_IN,),
    "threshold": (D_SAE,),
}
LAYER = "model.layers.9"


def folder(path: Path, arrays: dict[str, Array], config: dict[str, Any] | None = None) -> Path:
    saved_safely(arrays, path / "params.safetensors")
    if config is not None:
        about = {"architecture": "jump_relu", "model_name": "gemma-v3-270m-pt"}
        (path / "config.json").write_text(json.dumps(about | config))
    return path


def test_jumprelu_at_the_module_the_configuration_names(tmp_path: Path) -> None:
    arrays, x = drawn(31, **SHAPES), activations()
    w = wide(arrays)
    features = jump(x @ w["w_enc"] + w["b_enc"], w["threshold"])
    config = {"hf_hook_point_in": f"{LAYER}.output", "hf_hook_point_out": f"{LAYER}.output"}

    loaded = load_autoencoder(folder(tmp_path, arrays, config))

    agree(loaded, x, features, features @ w["w_dec"] + w["b_dec"])
    assert (loaded.hook, loaded.hook_out, loaded.layer) == ("post_block", None, 9)
    assert loaded.origin.model == "gemma-v3-270m-pt"


def test_a_transcoder_with_an_affine_path(tmp_path: Path) -> None:
    shapes = SHAPES | {"w_dec": (D_SAE, D_OUT), "b_dec": (D_OUT,)}
    arrays = drawn(32, **shapes, affine_skip_connection=(D_IN, D_OUT))
    w, x = wide(arrays), activations()
    features = jump(x @ w["w_enc"] + w["b_enc"], w["threshold"])
    config = {
        "hf_hook_point_in": f"{LAYER}.pre_feedforward_layernorm.output",
        "hf_hook_point_out": f"{LAYER}.post_feedforward_layernorm.output",
        "affine_connection": True,
    }

    loaded = load_autoencoder(folder(tmp_path, arrays, config))

    expected = features @ w["w_dec"] + w["b_dec"] + x @ w["affine_skip_connection"]
    agree(loaded, x, features, expected)
    assert (loaded.hook, loaded.hook_out, loaded.layer) == ("mlp_in", "mlp_out", 9)


@pytest.mark.parametrize(
    ("above", "hooks"),
    [
        ("resid_post_all", ("post_block", None)),
        ("attn_out_all", ("attn_z", None)),
        ("mlp_out", ("mlp_out", None)),
        ("transcoder_all", ("mlp_in", "mlp_out")),
        ("elsewhere", (None, None)),
    ],
)
def test_without_a_configuration_the_folders_say_it(
    tmp_path: Path, above: str, hooks: tuple[str | None, str | None]
) -> None:
    path = tmp_path / above / "layer_5_width_16k_l0_small"

    loaded = load_autoencoder(folder(path, drawn(31, **SHAPES)))

    assert ((loaded.hook, loaded.hook_out), loaded.layer) == (hooks, 5)


def test_another_architecture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadWeights, match="architecture 'topk'"):
        load_autoencoder(folder(tmp_path, drawn(31, **SHAPES), {"architecture": "topk"}))


def test_a_cross_layer_transcoder_is_refused(tmp_path: Path) -> None:
    arrays = drawn(31, **SHAPES | {"w_dec": (D_SAE, 3, D_IN)})

    with pytest.raises(BadWeights, match=r"w_dec \[40, 3, 12\] writes to several layers"):
        load_autoencoder(folder(tmp_path, arrays, {}))
