"""OpenAI's GPT-2 files: a bias subtracted after a norm, the activation as a name in the file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sonde.errors import BadWeights, NotSaid
from sonde.sae.load import load_autoencoder
from tests.sae.formulas import D_IN, D_SAE, K, activations, agree, drawn, relu, top, wide

SHAPES: dict[str, tuple[int, ...]] = {
    "encoder.weight": (D_SAE, D_IN),
    "decoder.weight": (D_IN, D_SAE),
    "latent_bias": (D_SAE,),
    "pre_bias": (D_IN,),
}


def file(path: Path, **more: Any) -> Path:
    held = {name: torch.from_numpy(array) for name, array in drawn(71, **SHAPES).items()}
    counts = {"stats_last_nonzero": torch.zeros(D_SAE, dtype=torch.long)}
    torch.save(held | counts | more, path)
    return path


def test_topk_normalises_and_undoes_it(tmp_path: Path) -> None:
    w, x = wide(drawn(71, **SHAPES)), activations() * 2 + 1
    wide_x = x.astype(np.float64)
    mean, std = wide_x.mean(1, keepdims=True), wide_x.std(1, ddof=1, keepdims=True)
    y = (wide_x - mean) / (std + 1e-5) - w["pre_bias"]
    features = top(y @ w["encoder.weight"].T + w["latent_bias"], K)
    expected = (features @ w["decoder.weight"].T + w["pre_bias"]) * std + mean

    loaded = load_autoencoder(
        file(tmp_path / "8.pt", activation="TopK", activation_state_dict={"k": K})
    )

    agree(loaded, x, features, expected)


def test_relu_does_not_normalise(tmp_path: Path) -> None:
    w, x = wide(drawn(71, **SHAPES)), activations()
    features = relu((x - w["pre_bias"]) @ w["encoder.weight"].T + w["latent_bias"])

    loaded = load_autoencoder(file(tmp_path / "8.pt", activation="ReLU"))

    agree(loaded, x, features, features @ w["decoder.weight"].T + w["pre_bias"])


def test_what_is_missing_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(BadWeights, match="activation is None, expected"):
        load_autoencoder(file(tmp_path / "8.pt"))
    with pytest.raises(NotSaid, match="pass k="):
        load_autoencoder(file(tmp_path / "9.pt", activation="TopK"))
