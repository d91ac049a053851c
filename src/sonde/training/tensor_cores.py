"""A float32 product at the speed of tensor cores, where it is one: bfloat16 activations on a GPU.

A bfloat16 number has 8 significant bits and a float16 number 11, so activations of a bfloat16
policy fit float16 once every token is scaled, by a power of two, into its range. A float32 weight
is the sum of two such numbers, to 22 of its 24 bits. Their products are exact in float32, where
tensor cores add them up. So one float16 product of twice the depth gives what a float32 product
gives, to what the order of additions changes anyway, several times as fast. Weights that were
stored with fewer bits need one part only.

Anything else (other activations, normalised input, a CPU) is not for here: `SplitEncoder.fits`.
"""

from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor

from sonde.sae.active import Active, join
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.encode import BYTES, ROWS, default_budget

LARGEST: Final = 14
"""Factors are scaled to just below 2 to this power: float16 holds them, and small ones too."""

Product = Callable[[Tensor, Tensor], Tensor]


def float32_out(x: Tensor, weights: Tensor) -> Tensor:
    """float16 factors, float32 sums and result."""
    product: Tensor = torch.mm(x, weights, out_dtype=torch.float32)
    return product


class SplitEncoder:
    """One dictionary whose encoder is kept as float16 parts that add up to it."""

    def __init__(self, sae: Autoencoder, product: Product = float32_out) -> None:
        self._sae = sae
        self._product = product
        parts, self._power = split(sae.W_enc)
        self._n_parts = len(parts)
        self._weights = torch.cat(parts)
        bias = sae.b_enc.double()
        if sae.subtract_b_dec:
            bias = bias - sae.b_dec.double() @ sae.W_enc.double()
        self._bias = bias.float()

    @staticmethod
    def fits(sae: Autoencoder, x: Tensor) -> bool:
        """Whether this way gives float32's result for these activations."""
        return x.dtype == torch.bfloat16 and x.is_cuda and sae.norm_in == "none"

    def encode(self, x: Tensor) -> Active:
        """The active features of bfloat16 activations [tokens, d_in]."""
        budget = default_budget(x.device, self._sae.d_sae)
        rows = max(ROWS, budget // (BYTES * self._sae.d_sae) // ROWS * ROWS)
        with torch.no_grad():
            return join([self._select(chunk) for chunk in torch.split(x, rows)])

    def _select(self, x: Tensor) -> Active:
        return self._sae.activation.select(self._pre_activations(x))

    def _pre_activations(self, x: Tensor) -> Tensor:
        x = x.float()
        power = LARGEST - torch.frexp(x.abs().amax(1, keepdim=True)).exponent
        small = torch.ldexp(x, power).half()
        product = self._product(small.repeat(1, self._n_parts), self._weights)
        one = torch.ones_like(power, dtype=torch.float32)
        undo = torch.ldexp(one, -power - self._power)
        return torch.addcmul(self._bias, product, undo, out=product)


def split(weights: Tensor) -> tuple[list[Tensor], int]:
    """One or two float16 tensors whose sum is the weights times 2 to a power, and that power."""
    power = LARGEST - int(torch.frexp(weights.abs().max()).exponent)
    scaled = torch.ldexp(weights, torch.tensor(power, device=weights.device))
    high = scaled.half()
    rest = scaled - high.float()
    return ([high, rest.half()] if bool(rest.any()) else [high]), power
