"""How well a dictionary fits what it reads, in numbers that compare across dictionaries.

A raw reconstruction loss does not: it grows with the width and with the norm of the activations.
Sums are float64, so that batches can be added up. A number that is not defined is None, never NaN.
Position 0 of a prompt is an attention sink whose norm outweighs all others: leave it out before.
"""

import math
from dataclasses import dataclass, field
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
    """Adds batches up to a `Health`. One meter is one pass over some text."""

    d_sae: int
    tokens: int = 0
    not_finite: int = 0
    _n_active: int = 0
    _cosines: int = 0
    _cosine: float = 0.0
    _norm: float = 0.0
    _unexplained: float = 0.0
    _square: float = 0.0
    _sum: Tensor | None = None
    _fired: Tensor | None = None

    def add(self, x: Tensor, x_hat: Tensor, active: Active) -> None:
        """One batch: what should have come out, what did [tokens, width], and by which features."""
        x, x_hat = x.double(), x_hat.double()
        finite = x.isfinite().all(1) & x_hat.isfinite().all(1)
        x, x_hat, active = x[finite], x_hat[finite], active.only(finite)
        self.tokens += len(x)
        self.not_finite += int((~finite).sum())
        self._n_active += int(active.n_active.sum())
        self._unexplained += float((x - x_hat).square().sum())
        self._square += float(x.square().sum())
        lengths = x.norm(dim=1)
        self._norm += float(lengths.sum())
        cosines = _cosines(x, x_hat)
        self._cosines += len(cosines)
        self._cosine += float(cosines.sum())
        self._sum = x.sum(0) if self._sum is None else self._sum + x.sum(0)
        fired = fired_features(active, self.d_sae)
        self._fired = fired if self._fired is None else self._fired | fired

    def health(self) -> Health:
        """The numbers so far."""
        if not self.tokens or self._sum is None or self._fired is None:
            return Health(self.tokens, None, None, None, None, None, self.not_finite)
        variance = self._square - float(self._sum.square().sum()) / self.tokens
        return Health(
            tokens=self.tokens,
            fvu=_ratio(self._unexplained, variance, self._square),
            cosine=self._cosine / self._cosines if self._cosines else None,
            l0=self._n_active / self.tokens,
            dead=1 - int(self._fired.sum()) / self.d_sae,
            input_norm=self._norm / self.tokens,
            not_finite=self.not_finite,
        )


def fvu(x: Tensor, x_hat: Tensor) -> float | None:
    """Σ‖x − x̂‖² / Σ‖x − mean‖² over tokens [tokens, width]; None where x does not vary."""
    x = x.double()
    variance = float((x - x.mean(0)).square().sum()) if len(x) else 0.0
    unexplained = float((x - x_hat.double()).square().sum())
    return _ratio(unexplained, variance, float(x.square().sum()))


def cosine(x: Tensor, x_hat: Tensor) -> float | None:
    """Mean cosine of each token's x and x̂ [tokens, width]; tokens without a direction left out."""
    found = _cosines(x.double(), x_hat.double())
    return float(found.mean()) if len(found) else None


def l0(active: Active) -> float | None:
    """Mean number of active features a token."""
    return float(active.n_active.double().mean()) if len(active) else None


def fired_features(active: Active, d_sae: int) -> Tensor:
    """Which features are active for at least one token. -> bool [d_sae]"""
    fired = torch.zeros(d_sae, dtype=torch.bool, device=active.indices.device)
    fired[active.indices[active.values != 0]] = True
    return fired


@dataclass(eq=False)
class DeadFeatures:
    """Which features have not been active for a window of tokens, the latest ones.

    A feature's silence is counted in whole batches: within a batch, order does not matter.
    """

    d_sae: int
    window: int
    """How many tokens of silence make a feature dead."""
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    seen: int = 0
    silent_for: Tensor = field(init=False)
    """Tokens since each feature was last active, int64 [d_sae]."""

    def __post_init__(self) -> None:
        self.silent_for = torch.zeros(self.d_sae, dtype=torch.int64, device=self.device)

    def add(self, active: Active) -> None:
        """One batch of tokens."""
        self.seen += len(active)
        self.silent_for += len(active)
        self.silent_for[fired_features(active, self.d_sae).to(self.device)] = 0

    @property
    def dead(self) -> Tensor:
        """Which features are dead. -> bool [d_sae]"""
        return self.silent_for >= self.window

    @property
    def share(self) -> float | None:
        """How many of all; None until a whole window has been seen."""
        return float(self.dead.double().mean()) if self.seen >= self.window else None


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


def _cosines(x: Tensor, x_hat: Tensor) -> Tensor:
    lengths: Tensor = x.norm(dim=1) * x_hat.norm(dim=1)
    found = (lengths > 0) & lengths.isfinite()
    return (x * x_hat).sum(1)[found] / lengths[found]


def _ratio(unexplained: float, variance: float, square: float) -> float | None:
    """FVU, where the variance is more than the rounding of the sums it comes from."""
    defined = math.isfinite(unexplained) and variance > ROUNDING * square
    return unexplained / variance if defined else None
