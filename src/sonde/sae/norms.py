"""What some dictionaries do to an activation before they encode it, and undo after they decode.

A constant factor is no norm here: loaders fold it into the weights.
"""

from typing import Final, Literal

from torch import Tensor

Norm = Literal["none", "layer_norm", "unit_norm"]
"""`layer_norm`: mean 0 and (unbiased) standard deviation 1 · `unit_norm`: length √width."""

EPSILON: Final = 1e-5


def normalise(x: Tensor, norm: Norm) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Normalised activations [tokens, width], and the scale and shift that undo it [tokens, 1]."""
    if norm == "layer_norm":
        shift = x.mean(1, keepdim=True)
        centred = x - shift
        scale = centred.std(1, keepdim=True)
        return centred / (scale + EPSILON), scale, shift
    if norm == "unit_norm":
        scale = x.norm(dim=1, keepdim=True) / x.shape[1] ** 0.5
        scale = scale.where(scale > 0, 1.0)
        return x / scale, scale, None
    return x, None, None


def undo(y: Tensor, scale: Tensor | None, shift: Tensor | None) -> Tensor:
    """The inverse of `normalise`, on a reconstruction [tokens, width]."""
    if scale is not None:
        y = y * scale
    return y if shift is None else y + shift
