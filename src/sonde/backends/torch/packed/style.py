"""What a layer's attention is like: its scale, its window, its soft cap, its sinks."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Style:
    """What a layer's attention is like."""

    scale: float
    window: int | None
    softcap: float | None
    sinks: Tensor | None

    @property
    def plain(self) -> bool:
        """Causal attention and nothing else."""
        return self.window is None and self.softcap is None and self.sinks is None

    def capped(self, scores: Tensor) -> Tensor:
        """Scores after the soft cap; the very tensor where there is none."""
        if self.softcap is None:
            return scores
        return torch.tanh(scores / self.softcap) * self.softcap


def softmax(scores: Tensor, sinks: Tensor | None) -> Tensor:
    """Softmax over keys in float32; a sink takes its share and is then left out.

    `sinks` are one a row of scores, or spread over them like these without the keys.
    """
    if sinks is None:
        return torch.softmax(scores, -1, dtype=torch.float32)
    sink = sinks.to(scores.dtype).unsqueeze(-1).expand(*scores.shape[:-1], 1)
    return torch.softmax(torch.cat([scores, sink], -1), -1, dtype=torch.float32)[..., :-1]
