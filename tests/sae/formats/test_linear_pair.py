"""Two linear layers in one torch file, as Goodfire and DeepSeek-R1 have them."""

from pathlib import Path

import numpy as np
import pytest

from sonde.errors import NotSaid
from sonde.sae.load import load_autoencoder
from tests.sae.formulas import D_IN, D_SAE, activations, agree, drawn, relu, saved, wide


def shapes(ending: str) -> dict[str, tuple[int, ...]]:
    return {
        f"encoder{ending}.weight": (D_SAE, D_IN),
        f"encoder{ending}.bias": (D_SAE,),
        f"decoder{ending}.weight": (D_IN, D_SAE),
        f"decoder{ending}.bias": (D_IN,),
    }


@pytest.mark.parametrize("ending", ["", "_linear"])
def test_relu_without_subtraction(tmp_path: Path, ending: str) -> None:
    arrays, x = drawn(61, **shapes(ending)), activations()
    w = wide(arrays)
    features = relu(x @ w[f"encoder{ending}.weight"].T + w[f"encoder{ending}.bias"])
    expected = features @ w[f"decoder{ending}.weight"].T + w[f"decoder{ending}.bias"]

    loaded = load_autoencoder(saved(arrays, tmp_path / "l19.pth"), hook="post_block", layer=19)

    agree(loaded, x, features, expected)
    assert (loaded.hook, loaded.layer) == ("post_block", 19)


def test_more_tensors_than_the_formula_uses_are_not_ignored(tmp_path: Path) -> None:
    """A TopK dictionary without its configuration must not pass for a ReLU one."""
    arrays = drawn(61, **shapes("")) | {"threshold": np.array(0.5, np.float32)}

    with pytest.raises(NotSaid, match=r"also has \['threshold'\]"):
        load_autoencoder(saved(arrays, tmp_path / "trained.pt"))
