"""The features of each token that are active, and nothing about those that are not.

Ragged, because dictionaries differ: a TopK one has k entries a token, a JumpReLU one has as many as
pass their threshold. The dense tokens × width matrix this stands for is never made.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Active:
    """Token `i` has the entries `offsets[i]` up to `offsets[i + 1]`. A value of 0 is not active."""

    indices: Tensor
    """Which feature, int64 [entries]."""
    values: Tensor
    """How much of it, float32 [entries]."""
    offsets: Tensor
    """Where each token's entries begin, and where the last one's end: int64 [tokens + 1]."""
    per_token: int | None = None
    """How many entries every token has, where all have the same number."""
    descending: bool = False
    """Whether each token's entries are strongest first already. Only with `per_token`."""

    def __len__(self) -> int:
        """How many tokens."""
        return len(self.offsets) - 1

    @property
    def n_active(self) -> Tensor:
        """How many features of each token are active. -> int64 [tokens]"""
        if self.per_token is not None:
            return self._rows()[1].ne(0).sum(1)
        counts = self.values.new_zeros(len(self), dtype=torch.int64)
        return counts.index_add_(0, self.tokens, (self.values != 0).long())

    @property
    def tokens(self) -> Tensor:
        """Which token each entry belongs to. -> int64 [entries]"""
        every = torch.arange(len(self), device=self.offsets.device)
        return every.repeat_interleave(self.offsets.diff(), output_size=len(self.indices))

    def top(self, k: int) -> tuple[Tensor, Tensor]:
        """The k strongest of each token, strongest first: indices and values, both [tokens, k].

        Where a token has fewer, the row ends in zeros, whose indices mean nothing; where no token
        can have k, rows are shorter.
        """
        indices, values = self._rows()
        if self.descending:
            return indices[:, :k], values[:, :k]
        values, order = values.topk(min(k, values.shape[1]), dim=1)
        return indices.gather(1, order), values

    def rows(self) -> list[tuple[list[int], list[float]]]:
        """Each token's active features, strongest first, as plain numbers and without padding."""
        indices, values = self.top(max(self.indices.shape[0], 1))
        counts = values.ne(0).sum(1).tolist()
        both = zip(indices.tolist(), values.tolist(), counts, strict=True)
        return [(row[:n], numbers[:n]) for row, numbers, n in both]

    def only(self, tokens: Tensor) -> "Active":
        """The same with the features of other tokens at 0. `tokens` is bool [tokens]."""
        return replace(self, values=self.values.where(tokens[self.tokens], 0.0))

    def dense(self, d_sae: int) -> Tensor:
        """The matrix this stands for, for small cases. -> [tokens, d_sae]"""
        out = self.values.new_zeros(len(self), d_sae)
        out[self.tokens, self.indices] = self.values
        return out

    def _rows(self) -> tuple[Tensor, Tensor]:
        """Indices and values [tokens, longest], short rows filled with zeros."""
        if self.per_token is not None:
            shape = (len(self), self.per_token)
            return self.indices.view(shape), self.values.view(shape)
        counts = self.offsets.diff()
        longest = int(counts.max()) if len(counts) else 0
        tokens = self.tokens
        places = torch.arange(len(tokens), device=tokens.device) - self.offsets[tokens]
        indices = self.indices.new_zeros(len(self), longest)
        values = self.values.new_zeros(len(self), longest)
        indices[tokens, places] = self.indices
        values[tokens, places] = self.values
        return indices, values


def join(parts: Sequence[Active]) -> Active:
    """The tokens of all parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    counts = torch.cat([part.offsets.diff() for part in parts])
    return Active(
        indices=torch.cat([part.indices for part in parts]),
        values=torch.cat([part.values for part in parts]),
        offsets=torch.cat([counts.new_zeros(1), counts.cumsum(0)]),
        per_token=parts[0].per_token,
        descending=parts[0].descending,
    )
