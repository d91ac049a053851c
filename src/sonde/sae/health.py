"""How well a dictionary fits what it reads, in numbers that compare across dictionaries.

A raw reconstruction loss does not: it grows with the width and with the norm of the activations.
Sums are float64, so that batches can be added up. A number that is not defined is None, never NaN.
Position 0 of a prompt is an attention sink whose norm outweighs all others: leave it out before.
"""

import math
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from sonde.sae.active import Active
from sonde.sae.autoencoder import Autoencoder

ROUNDING: Final = 1e-12


@dataclass(frozen=True)
class Health:
    """What was seen over some tokens."""

    tokens: int
    """How many, those that are not finite left out."""
    fvu: float | None
    """Fraction of variance unexplained: 0 is perfect, 1 is as good as the mean, more is worse."""
    cosine: float | None
    """Mean cosine between activation and reconstruction."""
    l0: float | None
    """Mean number of active features a token."""
    dead: float | None
    """Share of features that were active for none of these tokens."""
    input_norm: float | None
    """Mean length of what should come out."""
    not_finite: int = 0
    """Tokens that were left out."""


@dataclass(eq=False)
class HealthMeter:
    """Adds batches up to a `Health`. One meter is one pass over some text.

    Sums stay on the device of what is added until somebody looks: adding waits for no GPU.
    """

    d_sae: int
    fired: Tensor | None = None
    """Which features were active for any token so far, bool [d_sae]."""
    _sums: Tensor | None = None
    """Over tokens: those of `_by_token`, float64."""
    _sum: Tensor | None = None
    """Of all activations, float64 [width]."""

    def add(self, x: Tensor, x_hat: Tensor, active: Active) -> None:
        """One batch: what should have come out, what did [tokens, width], and by which features."""
        x, x_hat = x.double(), x_hat.double()
        lengths = torch.stack([_length(x), _length(x_hat)])
        finite = lengths.isfinite().all(0)
        active = active.only(finite)
        sums = _by_token(x, x_hat, lengths, active.n_active).where(finite, 0.0).sum(1)
        sums[1] += (~finite).sum()
        total = x.where(finite[:, None], 0.0).sum(0)
        fired = fired_features(active, self.d_sae)
        self._sums = sums if self._sums is None else self._sums + sums
        self._sum = total if self._sum is None else self._sum + total
        self.fired = fired if self.fired is None else self.fired | fired

    def __add__(self, other: "HealthMeter") -> "HealthMeter":
        """Both, as if one had seen everything."""
        if self._sums is None or other._sums is None:
            return other if self._sums is None else self
        assert self.fired is not None
        assert other.fired is not None
        assert self._sum is not None
        assert other._sum is not None
        return HealthMeter(
            self.d_sae, self.fired | other.fired, self._sums + other._sums, self._sum + other._sum
        )

    def health(self) -> Health:
        """The numbers so far."""
        if self._sums is None or self._sum is None or self.fired is None:
            return Health(0, None, None, None, None, None)
        sums = self._sums.tolist()
        tokens, not_finite, n_active, unexplained, square, norm, cosines, cosine = sums
        if not tokens:
            return Health(0, None, None, None, None, None, int(not_finite))
        variance = square - float(self._sum.square().sum()) / tokens
        return Health(
            tokens=int(tokens),
            fvu=_ratio(unexplained, variance, square),
            cosine=cosine / cosines if cosines else None,
            l0=n_active / tokens,
            dead=1 - int(self.fired.sum()) / self.d_sae,
            input_norm=norm / tokens,
            not_finite=int(not_finite),
        )


def fired_features(active: Active, d_sae: int) -> Tensor:
    """Which features are active for at least one token. -> bool [d_sae]"""
    fired = torch.zeros(d_sae + 1, dtype=torch.bool, device=active.indices.device)
    nobody = d_sae  # a place for entries that are not active: to pick the others would wait
    fired.index_fill_(0, active.indices.where(active.values != 0, nobody), True)
    return fired[:d_sae]


@dataclass(frozen=True)
class DecoderNorms:
    """Lengths of the decoder's rows: 1 each where a trainer kept them so."""

    smallest: float
    median: float
    largest: float


def decoder_norms(autoencoder: Autoencoder) -> DecoderNorms:
    """How long the features' directions are."""
    norms = autoencoder.W_dec.norm(dim=1).double()
    return DecoderNorms(float(norms.min()), float(norms.median()), float(norms.max()))


def _by_token(x: Tensor, x_hat: Tensor, lengths: Tensor, n_active: Tensor) -> Tensor:
    """What a meter sums up, in the order `HealthMeter.health` takes it. -> [8, tokens]"""
    one = torch.ones_like(lengths[0])
    both = lengths[0] * lengths[1]
    directed = both > 0
    return torch.stack(
        [
            one,
            torch.zeros_like(one),
            n_active.double(),
            (x - x_hat).square().sum(1),
            lengths[0].square(),
            lengths[0],
            directed.double(),
            ((x * x_hat).sum(1) / both).where(directed, 0.0),
        ]
    )


def _length(x: Tensor) -> Tensor:
    length: Tensor = torch.linalg.vector_norm(x, dim=1)
    return length


def _ratio(unexplained: float, variance: float, square: float) -> float | None:
    """FVU, where the variance is more than the rounding of the sums it comes from."""
    defined = math.isfinite(unexplained) and variance > ROUNDING * square
    return unexplained / variance if defined else None
