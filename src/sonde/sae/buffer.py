"""Activations of many contexts, gathered in one pass for several layers.

Some positions are left out everywhere, in training and in judging alike. Position 0 is an attention
sink: its activation is up to two hundred times as long as others and says nothing about its token.
In some contexts the sink goes on, as a rule where the first token is repeated, so whatever is far
longer than the middle one is left out with it. Outlier dimensions stay: they are part of the text.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import torch
from torch import Tensor

from sonde.backends.torch.reading import Reader
from sonde.sae.corpus import Contexts
from sonde.schema import Hook

SINK: Final = 20.0
"""Times the median length; ordinary outliers reach 9, sinks begin at 60."""
CPU_TOKENS: Final = 4096
GPU_TOKENS: Final = 65536
"""Positions in one forward pass."""


def passes(contexts: Contexts, device: torch.device) -> Iterator[Contexts]:
    """The contexts in groups that one forward pass takes at once."""
    tokens = CPU_TOKENS if device.type == "cpu" else GPU_TOKENS
    rows = max(1, tokens // contexts.ids.shape[1])
    for start in range(0, len(contexts), rows):
        part = contexts.take(slice(start, start + rows))
        longest = int(part.lengths.max())
        yield Contexts(part.ids[:, :longest], part.lengths)


def counts(activations: Tensor, lengths: Tensor) -> Tensor:
    """Which positions of [contexts, positions, width] are read: bool [contexts, positions]."""
    position = torch.arange(activations.shape[1], device=activations.device)
    inside = (position > 0) & (position < lengths.to(activations.device)[:, None])
    norms: Tensor = torch.linalg.vector_norm(activations, dim=-1, dtype=torch.float32)
    if not inside.any():
        return inside
    longest: Tensor = SINK * norms[inside].median()
    return inside & (norms < longest)


def gather(
    reader: Reader, contexts: Contexts, hook: Hook, layers: Sequence[int]
) -> dict[int, Tensor]:
    """The activations that count, context after context. -> for each layer [tokens, width]"""
    parts: dict[int, list[Tensor]] = {layer: [] for layer in layers}
    for some in passes(contexts, reader.device):
        for layer, read in reader.activations(some.ids, hook, layers).items():
            parts[layer].append(read[counts(read, some.lengths)])
    return {layer: torch.cat(found) for layer, found in parts.items()}
