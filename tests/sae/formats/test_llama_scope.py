"""Llama Scope folders: one threshold, and an average norm that scales it and the encoder."""

import json
from pathlib import Path
from typing import Any

import pytest

from sonde.errors import BadWeights
from sonde.sae.load import load_autoencoder
from tests.sae.formulas import D_IN, D_SAE, activations, agree, drawn, jump, saved_safely, wide

SHAPES: dict[str, tuple[int, ...]] = {
    "encoder.weight": (D_SAE, D_IN),
    "encoder.bias": (D_SAE,),
    "decoder.weight": (D_IN, D_SAE),
    "decoder.bias": (D_IN,),
}


def folder(path: Path, **config: Any) -> Path:
    saved_safely(drawn(51, **SHAPES), path / "checkpoints" / "final.safetensors")
    written = {
        "act_fn": "jumprelu",
        "jump_relu_threshold": 1.5,
        "d_model": D_IN,
        "d_sae": D_SAE,
        "hook_point_in": "blocks.6.hook_resid_post",
        "hook_point_out": "blocks.6.hook_resid_post",
        "dataset_average_activation_norm": {"in": 7.0, "out": 7.0},
    } | config
    (path / "hyperparams.json").write_text(json.dumps(written))
    return path


def test_activations_are_scaled_by_their_average_norm(tmp_path: Path) -> None:
    w, x = wide(drawn(51, **SHAPES)), activations()
    factor = D_IN**0.5 / 7.0
    pre = factor * x @ w["encoder.weight"].T + w["encoder.bias"]
    features = jump(pre, 1.5 * factor)

    loaded = load_autoencoder(folder(tmp_path))

    expected = (features @ w["decoder.weight"].T + w["decoder.bias"]) / factor
    agree(loaded, x, features, expected)
    assert (loaded.hook, loaded.hook_out, loaded.layer) == ("post_block", None, 6)


@pytest.mark.parametrize(
    "config",
    [{"act_fn": "topk"}, {"jump_relu_threshold": None}, {"dataset_average_activation_norm": {}}],
)
def test_what_it_cannot_do_without_is_asked_for(tmp_path: Path, config: Any) -> None:
    with pytest.raises(BadWeights, match="expected a jumprelu with both"):
        load_autoencoder(folder(tmp_path, **config))
