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


Pair = tuple[Tensor, Tensor | None]
"""What is read [tokens, width], and what a transcoder should make of it."""


def gather(
    reader: Reader,
    contexts: Contexts,
    hook: Hook,
    layers: Sequence[int],
    hook_out: Hook | None = None,
) -> dict[int, Pair]:
    """The activations that count, context after context, by layer.

    Half precision on a GPU, where they are many: what is far too long for it is a sink, and is not
    among them.
    """
    dtype = torch.float16 if reader.device.type == "cuda" else torch.float32
    read: dict[tuple[Hook, int], Tensor] = {}
    filled = dict.fromkeys(layers, 0)
    hooks: list[Hook] = [hook] if hook_out is None else [hook, hook_out]
    for some in passes(contexts, reader.device):
        found = {each: reader.activations(some.ids, each, layers) for each in hooks}
        for layer in layers:
            chosen = counts(found[hook][layer], some.lengths)
            n, start = int(chosen.sum()), filled[layer]
            filled[layer] += n
            for each in hooks:
                rows = found[each][layer][chosen]
                if (each, layer) not in read:  # once, at its full size: no copy is made at the end
                    shape = (contexts.n_tokens, rows.shape[1])
                    read[each, layer] = rows.new_empty(shape, dtype=dtype)
                read[each, layer][start : start + n] = rows
    kept = {key: held[: filled[key[1]]] for key, held in read.items()}
    return {
        layer: (kept[hook, layer], kept[hook_out, layer] if hook_out else None) for layer in layers
    }
