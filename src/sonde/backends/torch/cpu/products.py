"""Matrix products whose weights are laid out for the kernel once, and not at every product.

A CPU kernel reads a weight in tiles of its own order. The ordinary product puts it in that order
every time, which for some hundred rows costs a sixth of the product itself, and half of it for a
short prompt. oneDNN takes weights that are in order already. Its rows are also
batch-invariant, for any number of rows above one.

The price is a second copy of the weights, so models above `LARGEST` keep the ordinary product, as
do those in half precision. The model's own weights stay where they are. A write to them that torch
counts is noticed at the next product; for any other, lay them out `again`.

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


def product(rows: Tensor, weight: Tensor) -> Tensor:
    """Rows · weightᵀ for a weight [outputs, inputs] that is used once: not laid out.

    The weight is contiguous, or the transpose of what is. A row's bits are the same for any number
    of rows; a single one is computed twice, because alone it would have others.
    """
    given = torch.cat([rows, rows]) if len(rows) == 1 else rows
    out: Tensor = torch.ops.mkldnn._linear_pointwise.default(given, weight, None, "none", [], "")
    return out[: len(rows)]


def rows_are_free(like: Tensor) -> bool:
    """Whether `product` does such numbers: float32 on a CPU, with oneDNN."""
    return like.dtype == torch.float32 and like.device.type == "cpu" and available()


def available() -> bool:
    """Whether this torch has oneDNN."""
    return bool(torch.backends.mkldnn.is_available())  # type: ignore[no-untyped-call]


def worth_it(model: nn.Module) -> bool:
    """Whether the weights of a model are laid out: float32 on a CPU, and not too large."""
    weights = list(model.parameters())
    return (
        available()
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


def again(model: nn.Module) -> None:
    """Lay out anew what was laid out: the weights are others, or not worth it any more."""
    worth = worth_it(model)
    for module in model.modules():
        if isinstance(vars(module).get("forward"), _Forward):
            if worth:
                module.forward = _Forward(module)
            else:
                del module.forward


def share(model: nn.Module, other: nn.Module) -> None:
    """Where both models hold the very same weight and bias, hold one laid-out copy of it too."""
    twins = dict(other.named_modules())
    for name, module in model.named_modules():
        mine, theirs = _forward_of(module), _forward_of(twins.get(name))
        if mine is not None and theirs is not None:
            mine.take_from(theirs)


def laid_out_bytes(model: nn.Module) -> dict[int, int]:
    """Bytes of each laid-out copy, by what tells it from others."""
    forwards = [_forward_of(module) for module in model.modules()]
    return dict(forward.size() for forward in forwards if forward is not None)


def _forward_of(module: nn.Module | None) -> "_Forward | None":
    forward = None if module is None else vars(module).get("forward")
    return forward if isinstance(forward, _Forward) else None


class _Forward:
    """What such a module does from now on; as before for a gradient, and in compiled code."""

    def __init__(self, module: nn.Linear | Conv1D) -> None:
        self._module = module
        self._lay_out()

    def _lay_out(self) -> None:
        weight, bias = self._module.weight, self._module.bias
        self._weight, self._writes = weight, _writes(weight)
        plain = weight if isinstance(self._module, nn.Linear) else weight.T
        self._laid_out = LaidOut(plain, bias)

    def take_from(self, other: "_Forward") -> None:
        """Use the other's copy, if it is of the same tensors as they are now."""
        same = self._module.weight is other._weight and self._module.bias is other._module.bias
        if same and self._writes == other._writes:
            self._laid_out = other._laid_out

    def size(self) -> tuple[int, int]:
        """What tells its copy from others, and the copy's bytes."""
        return id(self._laid_out), self._weight.numel() * self._weight.element_size()

    def __call__(self, rows: Tensor) -> Tensor:
        module = self._module
        if torch.is_grad_enabled() or torch.compiler.is_compiling():
            weight = module.weight if isinstance(module, nn.Linear) else module.weight.T
            return F.linear(rows, weight, module.bias)
        if module.weight is not self._weight or _writes(self._weight) != self._writes:
            self._lay_out()
        return self._laid_out(rows)


def _writes(weight: Tensor) -> int:
    """How often torch has seen it written; what is made for inference is not counted."""
    return 0 if weight.is_inference() else weight._version
