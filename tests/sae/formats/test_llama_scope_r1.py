"""Llama Scope R1 folders: thresholds as logarithms, a scale that the caller has to say."""

import json
from pathlib import Path

import numpy as np
import pytest

from sonde.errors import NotSaid
from sonde.sae.load import load_autoencoder
from tests.sae.formulas import D_IN, D_SAE, activations, agree, drawn, jump, saved_safely, wide

SHAPES: dict[str, tuple[int, ...]] = {
    "encoder.weight": (D_SAE, D_IN),
    "encoder.bias": (D_SAE,),
    "decoder.weight": (D_IN, D_SAE),
    "decoder.bias": (D_IN,),
    "log_jumprelu_threshold": (D_SAE,),
}


def test_thresholds_are_exponentials_and_activations_are_scaled(tmp_path: Path) -> None:
    arrays, x = drawn(52, **SHAPES), activations()
    w, factor = wide(arrays), 0.5
    saved_safely(arrays, tmp_path / "sae_weights.safetensors")
    config = {"d_model": D_IN, "expansion_factor": 8, "hook_point_in": "blocks.6.hook_resid_post"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    pre = factor * x @ w["encoder.weight"].T + w["encoder.bias"]
    features = jump(pre, np.exp(w["log_jumprelu_threshold"]))

    with pytest.raises(NotSaid, match="factor="):
        load_autoencoder(tmp_path)
    loaded = load_autoencoder(tmp_path, factor=factor)

    expected = (features @ w["decoder.weight"].T + w["decoder.bias"]) / factor
    agree(loaded, x, features, expected)
    assert (loaded.hook, loaded.layer) == ("post_block", 6)
