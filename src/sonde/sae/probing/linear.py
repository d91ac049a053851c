"""Logistic regression on activations or on a few features: many yes-or-no questions at once.

Each question has its own weights; nothing is shared but the rows. Inputs are centred and scaled by
their training rows, positive and negative rows count as much as each other, and weights are kept
small, so that more inputs than rows do no harm. The same rows give the same weights.
"""

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

DECAY: Final = 1e-3
STEPS: Final = 60


@dataclass(frozen=True, eq=False)
class Probe:
    """Answers yes where `rows @ weights + bias` is positive."""

    weights: Tensor
    """[width, questions], of the rows as they are."""
    bias: Tensor
    """[questions]"""

    def __call__(self, rows: Tensor) -> Tensor:
        """How strongly yes, [rows, questions]."""
        return rows.double() @ self.weights + self.bias


def fit(rows: Tensor, yes: Tensor) -> Probe:
    """A probe for each question, from rows [n, width] and their answers, bool [n, questions]."""
    x = rows.double()
    mean, spread = x.mean(0), x.std(0).clamp_min(1e-8)
    x = (x - mean) / spread
    said = yes.double()
    share = said.mean(0).clamp(1 / (2 * len(x)), 1 - 1 / (2 * len(x)))
    balance = torch.where(yes, 0.5 / share, 0.5 / (1 - share))
    weights = torch.zeros(x.shape[1], yes.shape[1], dtype=torch.float64, device=x.device)
    bias = torch.zeros(yes.shape[1], dtype=torch.float64, device=x.device)
    with torch.enable_grad():
        free = [weights.requires_grad_(), bias.requires_grad_()]
        optimiser = torch.optim.LBFGS(free, max_iter=STEPS, line_search_fn="strong_wolfe")

        def loss() -> float:
            optimiser.zero_grad()
            missed = torch.nn.functional.binary_cross_entropy_with_logits(
                x @ weights + bias, said, weight=balance, reduction="none"
            )
            total = missed.mean(0).sum() + DECAY * weights.square().sum()
            total.backward()  # type: ignore[no-untyped-call]
            return float(total.detach())

        optimiser.step(loss)  # type: ignore[no-untyped-call]
    own = weights.detach() / spread[:, None]
    return Probe(own, bias.detach() - mean @ own)


def f1(answered: Tensor, yes: Tensor) -> Tensor:
    """Harmonic mean of precision and recall of each question; 0 where nothing was found."""
    right = (answered & yes).sum(0).double()
    asked = answered.sum(0) + yes.sum(0)
    return 2 * right / asked.clamp_min(1)


def accuracy(answered: Tensor, yes: Tensor) -> Tensor:
    """Balanced: the mean of how often a yes and a no are found. 0.5 is chance."""
    found = (answered & yes).sum(0) / yes.sum(0).clamp_min(1)
    spared = (~answered & ~yes).sum(0) / (~yes).sum(0).clamp_min(1)
    return (found + spared).double() / 2
