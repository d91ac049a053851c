"""Matrix products whose weights are laid out for the kernel once, and not at every product.

A CPU kernel reads a weight in tiles of its own order. The ordinary product puts it in that order
every time, which for some hundred rows costs a sixth of the product itself, and half of it for a
short prompt. oneDNN takes weights that are in order already. Its rows also have the same bits in
any company, for any number of rows above one.

The price is a second copy of the weights, so models above `LARGEST` keep the ordinary product, as
do those in half precision. The model's own weights stay where they are and must not change any
more.

This is not quantisation and no other arithmetic: the same float32 products, added in another order.
"""

from collections.abc import Iterable
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

LARGEST: Final = 4 * 2**30
"""Bytes of weights that are worth a second copy."""


class LaidOut:
    """x ↦ x · weightᵀ + bias, with the weight [outputs, inputs] in the kernel's order."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        """Copies the weight; `bias` is shared."""
        self._weight = torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous(), None)
        self._bias = None if bias is None else bias.detach()
        self._product = torch.ops.mkldnn._linear_pointwise.default

    def __call__(self, rows: Tensor) -> Tensor:
        """[…, inputs] -> […, outputs]."""
        out: Tensor = self._product(rows, self._weight, self._bias, "none", [], "")
        return out


def worth_it(model: nn.Module) -> bool:
    """Whether the weights of a model are laid out: float32 on a CPU, and not too large."""
    weights = list(model.parameters())
    return (
        torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and all(w.device.type == "cpu" and w.dtype == torch.float32 for w in weights)
        and sum(w.numel() * w.element_size() for w in weights) <= LARGEST
    )


def lay_out(layers: Iterable[nn.Module]) -> None:
    """From now on the linear maps inside `layers` use weights laid out once; hooks stay."""
    for layer in layers:
        for module in layer.modules():
            plain = isinstance(module, nn.Linear | Conv1D) and type(module) in (nn.Linear, Conv1D)
            if plain and "forward" not in vars(module):
                module.forward = _Forward(module)


class _Forward:
    """What such a module does from now on; as before for a gradient, and in compiled code."""

    def __init__(self, module: nn.Linear | Conv1D) -> None:
        self._weight = module.weight if isinstance(module, nn.Linear) else module.weight.T
        self._bias: Tensor | None = module.bias
        self._laid_out = LaidOut(self._weight, self._bias)

    def __call__(self, rows: Tensor) -> Tensor:
        if torch.is_grad_enabled() or torch.compiler.is_compiling():
            return F.linear(rows, self._weight, self._bias)
        return self._laid_out(rows)
