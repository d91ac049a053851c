"""What keeps an autoencoder sparse while it learns, each way as its paper has it.

- **TopK**       the k largest pre-activations of each token (Gao et al., 2024).
- **BatchTopK**  the n·k largest of a batch of n tokens, so that a token takes as many as it needs;
                 afterwards a threshold, the mean of what was just large enough (Bussmann et al.,
                 2024).
- **JumpReLU**   whatever passes its own feature's threshold, which is learned through a step that
                 is made to have a slope (Rajamanoharan et al., 2024). The number of active features
                 is drawn to k.

Negative pre-activations are never active. With a cap, BatchTopK compares each feature's
pre-activation less a handicap, which grows while the feature is active more often than the cap and
shrinks otherwise; the handicap becomes a part of that feature's threshold.
"""

from __future__ import annotations

from typing import Any, Final, Literal, Protocol

import torch
from torch import Tensor, nn

from sonde.sae.activations import Activation, BatchTopK, JumpRelu, TopK

Kind = Literal["topk", "batchtopk", "jumprelu"]

REMEMBERED: Final = 0.99
"""Of the running threshold, in each step."""
NEAR: Final = 0.75
"""How far below the running threshold a batch's own is looked for at first, as a share of it."""
GAIN: Final = 0.02
"""How far a handicap moves in a step, as a share of the threshold."""
FIRST: Final = 0.1
"""JumpReLU's thresholds, before anything is learned."""
SLOPE_OVER: Final = 0.1
"""The width over which JumpReLU's step is taken to have a slope, activations being of size 1."""
PULL: Final = 0.1
"""How strongly JumpReLU's number of active features is drawn to k."""


class Sparsity(Protocol):
    """One way to choose active features, and what it learns."""

    def features(self, pre: Tensor) -> Tensor:
        """Pre-activations [tokens, d_sae] to features, 0 where inactive; gradients flow."""

    def penalty(self, pre: Tensor) -> Tensor | None:
        """What is added to the loss, if anything."""

    def learned(self) -> dict[str, nn.Parameter]:
        """What the optimiser moves."""

    def running(self) -> dict[str, Tensor]:
        """What it keeps beside that, changed in place."""

    def hear(self, active: Tensor, tokens: int) -> None:
        """On how many of the tokens each feature was active. [d_sae]"""

    def activation(self, scale: Tensor) -> Activation:
        """The same for reading, of features that are `scale` times as large."""


class ByToken:
    """TopK."""

    def __init__(self, k: int) -> None:
        self._k = k

    def features(self, pre: Tensor) -> Tensor:
        """The k largest of each token."""
        values, indices = pre.topk(self._k, dim=1)
        return torch.zeros_like(pre).scatter(1, indices, values.relu())

    def penalty(self, pre: Tensor) -> Tensor | None:
        """None: k is kept exactly."""
        return None

    def learned(self) -> dict[str, nn.Parameter]:
        """Nothing."""
        return {}

    def running(self) -> dict[str, Tensor]:
        """Nothing."""
        return {}

    def hear(self, active: Tensor, tokens: int) -> None:
        """Nothing follows from it."""

    def activation(self, scale: Tensor) -> Activation:
        """The order of features does not depend on their scale."""
        return TopK(self._k)


class ByBatch:
    """BatchTopK, with or without a cap on how often a feature may be active."""

    def __init__(self, k: int, d_sae: int, cap: float | None, device: torch.device) -> None:
        self._k, self._cap = k, cap
        self.threshold = torch.zeros((), device=device)
        self.steps = torch.zeros((), device=device)
        self.handicap = torch.zeros(d_sae, device=device)

    def features(self, pre: Tensor) -> Tensor:
        """The n·k largest of the batch."""
        held = pre.detach()
        compared = held if self._cap is None else held - self.handicap.to(held.dtype)
        least = self._least_of(compared, len(pre) * self._k)
        with torch.no_grad():
            self.steps += 1
            newest = (1 - REMEMBERED) / (1 - REMEMBERED**self.steps)
            self.threshold.lerp_(least.float(), newest)
        return pre.where(compared >= least, 0.0)

    def _least_of(self, compared: Tensor, n: int) -> Tensor:
        """The n-th largest of all, or the least positive number where that is not positive.

        Sorting a whole batch takes longer than everything else in a step. The n-th largest moves
        little from batch to batch, so only what is near the running threshold is sorted; where
        that is too few, all are.
        """
        few = compared[compared > NEAR * self.threshold]
        if len(few) < n:
            few = compared.flatten()
        least = few.topk(n, sorted=False).values.min()
        return least.clamp_min(torch.finfo(least.dtype).tiny)

    def penalty(self, pre: Tensor) -> Tensor | None:
        """None: k is kept exactly."""
        return None

    def learned(self) -> dict[str, nn.Parameter]:
        """Nothing by gradients."""
        return {}

    def running(self) -> dict[str, Tensor]:
        """The threshold, after how many steps, and the handicaps."""
        return {"threshold": self.threshold, "steps": self.steps, "handicap": self.handicap}

    def hear(self, active: Tensor, tokens: int) -> None:
        """Make it harder for those that are active too often."""
        if self._cap is not None:
            excess = (active / tokens / self._cap - 1).clamp(-1, 1)
            self.handicap.add_(GAIN * self.threshold * excess).clamp_min_(0)

    def activation(self, scale: Tensor) -> Activation:
        """One threshold for all, or one for each where there is a cap."""
        if self._cap is None:
            return BatchTopK(self._k, float(self.threshold * scale))
        return JumpRelu((self.threshold + self.handicap) * scale)


class ByThreshold:
    """JumpReLU."""

    def __init__(self, k: int, d_sae: int, device: torch.device) -> None:
        self._k = k
        self.log_threshold = nn.Parameter(torch.full((d_sae,), FIRST, device=device).log())

    def features(self, pre: Tensor) -> Tensor:
        """What passes, as large as it is."""
        passed: Tensor = _Jump.apply(pre, self.log_threshold.exp())  # type: ignore[no-untyped-call]
        return passed

    def penalty(self, pre: Tensor) -> Tensor | None:
        """By how much the mean number of active features misses k, squared."""
        step: Tensor = _Step.apply(pre.detach(), self.log_threshold.exp())  # type: ignore[no-untyped-call]
        return PULL * (step.sum(1).mean() / self._k - 1).square()

    def learned(self) -> dict[str, nn.Parameter]:
        """The thresholds, as logarithms."""
        return {"log_threshold": self.log_threshold}

    def running(self) -> dict[str, Tensor]:
        """Nothing."""
        return {}

    def hear(self, active: Tensor, tokens: int) -> None:
        """Nothing follows from it."""

    def activation(self, scale: Tensor) -> Activation:
        """The thresholds that were learned."""
        return JumpRelu(self.log_threshold.detach().exp() * scale)


class _Jump(torch.autograd.Function):
    """z where z > θ. Its slope in θ: −θ/ε where z is within ε/2 of θ."""

    @staticmethod
    def forward(ctx: Any, pre: Tensor, threshold: Tensor) -> Tensor:
        ctx.save_for_backward(pre, threshold)
        return pre.where(pre > threshold, 0.0)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        pre, threshold = ctx.saved_tensors
        (gradient,) = gradients
        by_threshold = -(threshold / SLOPE_OVER) * (gradient * _near(pre, threshold)).sum(0)
        return gradient.where(pre > threshold, 0.0), by_threshold


class _Step(torch.autograd.Function):
    """1 where z > θ. Its slope in θ: −1/ε where z is within ε/2 of θ; it has none in z."""

    @staticmethod
    def forward(ctx: Any, pre: Tensor, threshold: Tensor) -> Tensor:
        ctx.save_for_backward(pre, threshold)
        return (pre > threshold).to(threshold.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor]:
        pre, threshold = ctx.saved_tensors
        (gradient,) = gradients
        return None, -(gradient * _near(pre, threshold)).sum(0) / SLOPE_OVER


def _near(pre: Tensor, threshold: Tensor) -> Tensor:
    return (pre - threshold).abs() < SLOPE_OVER / 2
