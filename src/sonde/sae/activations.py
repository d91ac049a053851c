"""What makes a dictionary sparse: the step from pre-activations to active features.

Each kind is a small frozen value that knows how to select from a block of pre-activations
`y @ W_enc + b_enc`, and nothing of files, chunks or norms. BatchTopK is a threshold here: taking
the largest of a whole batch is for training, where the batch is not an accident.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Literal, Self

import torch
from torch import Tensor

from sonde.sae.active import Active
from sonde.sae.selection import above, largest, rectangle

Kind = Literal["relu", "topk", "batchtopk", "jumprelu", "gated", "groupmax"]


@dataclass(frozen=True, eq=False)
class _Activation:
    """What all kinds have in common: tensors move together."""

    kind: ClassVar[Kind]

    def tensors(self) -> dict[str, Tensor]:
        """Its tensors by name, each [d_sae]."""
        held = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: value for name, value in held if isinstance(value, Tensor)}

    def with_tensors(self, tensors: Mapping[str, Tensor]) -> Self:
        """The same activation with other tensors."""
        return replace(self, **tensors)


@dataclass(frozen=True, eq=False)
class Relu(_Activation):
    """Every positive pre-activation."""

    kind: ClassVar[Kind] = "relu"

    def select(self, pre: Tensor) -> Active:
        """Pre-activations [tokens, d_sae] to active features."""
        return above(pre, 0.0)


@dataclass(frozen=True, eq=False)
class TopK(_Activation):
    """The k largest pre-activations of each token; with `relu`, negative ones among them are 0."""

    k: int
    relu: bool = True
    kind: ClassVar[Kind] = "topk"

    def select(self, pre: Tensor) -> Active:
        """Pre-activations [tokens, d_sae] to active features."""
        indices, values = largest(pre, self.k)
        return rectangle(indices, values.relu_() if self.relu else values, descending=True)


@dataclass(frozen=True, eq=False)
class BatchTopK(_Activation):
    """Trained to keep k a token on average over a batch; applied as the threshold it learned."""

    k: int
    threshold: float
    kind: ClassVar[Kind] = "batchtopk"

    def select(self, pre: Tensor) -> Active:
        """Pre-activations [tokens, d_sae] to active features."""
        return above(pre, max(self.threshold, 0.0))


@dataclass(frozen=True, eq=False)
class JumpRelu(_Activation):
    """Every positive pre-activation above its own feature's threshold."""

    threshold: Tensor
    """[d_sae]"""
    kind: ClassVar[Kind] = "jumprelu"

    def select(self, pre: Tensor) -> Active:
        """Pre-activations [tokens, d_sae] to active features."""
        return above(pre, self.threshold.relu())


@dataclass(frozen=True, eq=False)
class Gated(_Activation):
    """One product, read twice: whether a feature is on, and how much of it there is."""

    b_gate: Tensor
    b_mag: Tensor
    r_mag: Tensor
    """All [d_sae]."""
    kind: ClassVar[Kind] = "gated"

    def select(self, pre: Tensor) -> Active:
        """Pre-activations [tokens, d_sae] to active features. Overwrites them."""
        closed = pre + self.b_gate <= 0
        magnitude = pre.mul_(self.r_mag.exp()).add_(self.b_mag).masked_fill_(closed, 0)
        return above(magnitude, 0.0)


@dataclass(frozen=True, eq=False)
class GroupMax(_Activation):
    """The largest of each of k equal groups of features, where it is positive."""

    k: int
    kind: ClassVar[Kind] = "groupmax"

    def select(self, pre: Tensor) -> Active:
        """Pre-activations [tokens, d_sae] to active features."""
        size = pre.shape[1] // self.k
        values, places = pre.view(-1, self.k, size).max(dim=2)
        indices = places + torch.arange(self.k, device=pre.device) * size
        return rectangle(indices, values.relu_(), descending=False)


Activation = Relu | TopK | BatchTopK | JumpRelu | Gated | GroupMax
