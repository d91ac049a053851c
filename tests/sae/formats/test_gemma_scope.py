"""Gemma Scope archives: JumpReLU, everything but the weights in the names of the folders."""

from pathlib import Path

import numpy as np
import pytest

from sonde.errors import BadRequest, BadWeights
from sonde.sae.load import load_autoencoder
from tests.sae.formulas import D_IN, D_SAE, Array, activations, agree, drawn, jump, wide

SHAPES: dict[str, tuple[int, ...]] = {
    "W_enc": (D_IN, D_SAE),
    "W_dec": (D_SAE, D_IN),
    "b_enc": (D_SAE,),
    "b_dec": (D_IN,),
    "threshold": (D_SAE,),
}
LAYER = Path("layer_20") / "width_16k" / "average_l0_71"


def folder(path: Path, arrays: dict[str, Array]) -> Path:
    path.mkdir(parents=True)
    np.savez(path / "params.npz", **arrays)  # type: ignore[arg-type]
    return path


@pytest.mark.parametrize("lower", [False, True])
def test_jumprelu_without_subtraction(tmp_path: Path, lower: bool) -> None:
    arrays, x = drawn(21, **SHAPES), activations()
    w = wide(arrays)
    features = jump(x @ w["W_enc"] + w["b_enc"], w["threshold"])
    named = {name.replace("W_", "w_") if lower else name: array for name, array in arrays.items()}

    loaded = load_autoencoder(folder(tmp_path / "gemma-scope-2b-pt-res" / LAYER, named))

    agree(loaded, x, features, features @ w["W_dec"] + w["b_dec"])
    assert (loaded.hook, loaded.layer) == ("post_block", 20)
    assert loaded.origin.model == "google/gemma-2-2b"


def test_dictionaries_of_the_embedding_are_scaled_by_the_root_of_the_width(tmp_path: Path) -> None:
    arrays, x = drawn(22, **SHAPES), activations()
    w = wide(arrays)
    features = jump(x @ (w["W_enc"] / D_IN**0.5) + w["b_enc"], w["threshold"])
    path = tmp_path / "gemma-scope-2b-pt-res" / "embedding" / "width_4k" / "average_l0_6"

    loaded = load_autoencoder(folder(path, arrays))

    agree(loaded, x, features, features @ (w["W_dec"] * D_IN**0.5) + w["b_dec"])
    assert loaded.hook == "embed"


@pytest.mark.parametrize(
    ("repository", "hook", "hook_out", "model"),
    [
        ("models--google--gemma-scope-9b-it-res", "post_block", None, "google/gemma-2-9b-it"),
        ("gemma-scope-2b-pt-mlp", "mlp_out", None, "google/gemma-2-2b"),
        ("gemma-scope-2b-pt-att", "attn_z", None, "google/gemma-2-2b"),
        ("gemma-scope-2b-pt-transcoders", "mlp_in", "mlp_out", "google/gemma-2-2b"),
        ("somewhere", None, None, None),
    ],
)
def test_the_name_of_the_repository_says_the_site(
    tmp_path: Path, repository: str, hook: str | None, hook_out: str | None, model: str | None
) -> None:
    loaded = load_autoencoder(folder(tmp_path / repository / LAYER, drawn(21, **SHAPES)))

    assert (loaded.hook, loaded.hook_out, loaded.origin.model) == (hook, hook_out, model)
    assert loaded.is_transcoder == (hook_out is not None)


def test_what_the_names_do_not_say_the_caller_can(tmp_path: Path) -> None:
    path = folder(tmp_path / "params", drawn(21, **SHAPES))

    loaded = load_autoencoder(path, hook="post_block", layer=4, d_in=D_IN)

    assert (loaded.hook, loaded.layer) == ("post_block", 4)
    with pytest.raises(BadRequest, match="jumprelu dictionary, which has no k"):
        load_autoencoder(path, k=3)


def test_a_missing_array_is_named(tmp_path: Path) -> None:
    arrays = drawn(21, **SHAPES)
    del arrays["b_enc"]

    with pytest.raises(BadWeights, match=r"b_enc.*found \['W_enc \[12, 40\]'"):
        load_autoencoder(folder(tmp_path / "params", arrays))
