"""Words in a few sentences, and what a model and a dictionary make of them at their last token."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from sonde.backends.torch.reading import Reader
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.corpus import Contexts
from sonde.sae.evaluate import hook_of

AT_ONCE: Final = 256
"""Prompts in one forward pass."""


@dataclass(frozen=True, eq=False)
class Words:
    """Prompts that end in a word."""

    prompts: Contexts
    which: Tensor
    """Of which word each prompt is. int64 [prompts]"""


def in_sentences(reader: Reader, words: Sequence[str], sentences: Sequence[str]) -> Words:
    """Every word at the end of every sentence; a word begins with its space."""
    texts = [sentence + word for word in words for sentence in sentences]
    ids = reader.tokens_of(texts)
    longest = max(map(len, ids))
    rows = torch.tensor([each + [0] * (longest - len(each)) for each in ids])
    lengths = torch.tensor([*map(len, ids)])
    which = torch.arange(len(words)).repeat_interleave(len(sentences))
    return Words(Contexts(rows, lengths), which)


@torch.no_grad()
def at_the_end(
    reader: Reader, words: Words, autoencoders: Sequence[tuple[int, Autoencoder]]
) -> list[Tensor]:
    """What each dictionary reads at the last token of every prompt, [prompts, width] float32."""
    layers: dict[str, set[int]] = {}
    for layer, each in autoencoders:
        layers.setdefault(hook_of(each), set()).add(layer)
    found: Mapping[tuple[str, int], list[Tensor]] = {
        (hook, layer): [] for hook, some in layers.items() for layer in some
    }
    prompts = words.prompts
    for start in range(0, len(prompts), AT_ONCE):
        some = prompts.take(slice(start, start + AT_ONCE))
        last = (some.lengths - 1).to(reader.device)
        rows = torch.arange(len(some), device=reader.device)
        for hook in {hook_of(each) for _, each in autoencoders}:
            read = reader.activations(some.ids, hook, sorted(layers[hook]))
            for layer, values in read.items():
                found[hook, layer].append(values[rows, last].float())
    together = {key: torch.cat(parts) for key, parts in found.items()}
    return [together[hook_of(each), layer] for layer, each in autoencoders]
