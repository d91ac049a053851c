"""What a dictionary must give, in float64 and numpy, from the formulas alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import save_file

from sonde.sae.activations import Activation, TopK
from sonde.sae.autoencoder import Autoencoder

Array = NDArray[Any]

D_IN, D_SAE, D_OUT, TOKENS, K = 12, 40, 9, 21, 5


def drawn(seed: int, **shapes: tuple[int, ...]) -> dict[str, Array]:
    """Random float32 arrays by name; those called threshold are positive."""
    draw = np.random.default_rng(seed)
    made = {name: draw.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return {name: np.abs(array) if "threshold" in name else array for name, array in made.items()}


def activations(width: int = D_IN, tokens: int = TOKENS) -> Array:
    """What is encoded: float32, so that nothing is rounded on the way in."""
    return np.random.default_rng(99).normal(size=(tokens, width)).astype(np.float32)


def wide(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The same numbers in float64."""
    return {name: array.astype(np.float64) for name, array in arrays.items()}


def relu(pre: Array) -> Array:
    return np.maximum(pre, 0)


def top(pre: Array, k: int) -> Array:
    """Negative ones among the k largest count as 0."""
    chosen = np.zeros_like(pre)
    order = np.argsort(-pre, axis=1, kind="stable")[:, :k]
    np.put_along_axis(chosen, order, np.take_along_axis(relu(pre), order, 1), 1)
    return chosen


def jump(pre: Array, threshold: Array | float) -> Array:
    return relu(pre) * (pre > threshold)


def fvu(x: torch.Tensor, x_hat: torch.Tensor) -> float:
    """Fraction of variance unexplained: of [tokens, width], and what came back of it."""
    wanted = x.double()
    rest, spread = wanted - x_hat.double(), wanted - wanted.mean(0)
    return float(rest.square().sum() / spread.square().sum())


def unit_rows(W_dec: Array) -> Array:
    """The length of each feature's direction."""
    lengths: Array = np.linalg.norm(W_dec, axis=1)
    return lengths


def saved(arrays: Mapping[str, Array], path: Path) -> Path:
    """Written as a torch file, as `torch.save(model.state_dict(), path)` does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({name: torch.from_numpy(np.asarray(array)) for name, array in arrays.items()}, path)
    return path


def saved_safely(arrays: Mapping[str, Array], path: Path) -> Path:
    """Written as safetensors."""
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)
    return path


def agree(autoencoder: Autoencoder, x: Array, features: Array, x_hat: Array) -> None:
    """Encode and decode give what the formulas give: the same features, the same numbers."""
    given = torch.from_numpy(x)
    active = autoencoder.encode(given)
    found = active.dense(autoencoder.d_sae).double().numpy()
    np.testing.assert_array_equal(found != 0, features != 0)
    np.testing.assert_allclose(found, features, rtol=2e-5, atol=1e-5)
    for decoded in (autoencoder.decode(active, given), autoencoder.reconstruct(given)):
        np.testing.assert_allclose(decoded.double().numpy(), x_hat, rtol=2e-5, atol=2e-5)
    assert features.any(axis=1).sum() > len(x) // 2, "the test would prove little"


def dictionary(
    activation: Activation | None = None, *, d_in: int = D_IN, d_sae: int = D_SAE, **more: Any
) -> Autoencoder:
    """A random one, made in memory."""
    shapes = {"W_enc": (d_in, d_sae), "b_enc": (d_sae,), "W_dec": (d_sae, d_in), "b_dec": (d_in,)}
    held: Any = {name: torch.from_numpy(array) for name, array in drawn(7, **shapes).items()}
    return Autoencoder(**held, activation=activation or TopK(K), **more)
