"""Held-out snippets to test labels on: some where a feature is active, others where it is not.

Windows around a feature's peaks in text that its description was not made from, spread over their
range from the highest to the lowest; and windows as long from other contexts, in which the feature
is nowhere active. The same seed gives the same snippets.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import torch

from sonde.backends.torch.reading import Reader
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.buffer import counts, passes
from sonde.sae.corpus import Contexts
from sonde.sae.evaluate import hook_of
from sonde.sae.peaks import AFTER, BEFORE

SIDE: Final = 10
"""Snippets of either kind."""
FEWEST: Final = 5
"""Of either kind, below which nothing is measured."""


@dataclass(frozen=True)
class Trial:
    """A snippet, and whether the feature is active in it."""

    text: str
    active: bool


@torch.no_grad()
def held_out_trials(
    reader: Reader,
    autoencoder: Autoencoder,
    layer: int,
    contexts: Contexts,
    features: Sequence[int],
    *,
    without: Sequence[set[str]],
    seed: int = 0,
) -> list[list[Trial]]:
    """For each feature its trials, in random order; texts in `without` are not among them."""
    chosen = torch.tensor(features)
    parts = []
    for some in passes(contexts, reader.device):
        read = reader.activations(some.ids, hook_of(autoencoder), [layer])[layer]
        mask = counts(read, some.lengths)
        active = autoencoder.encode(read[mask]).dense(autoencoder.d_sae)
        values = active.new_zeros(*mask.shape, len(features))
        values[mask] = active[:, chosen.to(active.device)]
        full = values.new_zeros(len(some), contexts.ids.shape[1], len(features))
        full[:, : values.shape[1]] = values
        parts.append(full.cpu())
    activity = torch.cat(parts)
    return [
        _trials(reader, contexts, activity[:, :, n], without[n], random.Random(seed + feature))
        for n, feature in enumerate(features)
    ]


def _trials(
    reader: Reader,
    contexts: Contexts,
    activity: torch.Tensor,
    without: set[str],
    draw: random.Random,
) -> list[Trial]:
    """Of one feature, from its activity [contexts, positions]."""
    peaks = activity.max(1)
    order = [n for n in peaks.values.argsort(descending=True).tolist() if peaks.values[n] > 0]
    step = max(1.0, (len(order) - 1) / max(1, SIDE - 1))
    spread = [order[round(i * step)] for i in range(SIDE) if round(i * step) < len(order)]
    yes = [(n, int(peaks.indices[n])) for n in spread]
    silent = [n for n in range(len(contexts)) if peaks.values[n] <= 0]
    places = [(n, draw.randrange(1, max(2, int(contexts.lengths[n])))) for n in silent]
    if len(places) < SIDE:
        places += _silent_windows(activity, contexts, draw)
    draw.shuffle(places)
    trials = [Trial(_window(reader, contexts, *place), active=True) for place in yes]
    trials += [Trial(_window(reader, contexts, *place), active=False) for place in places[:SIDE]]
    trials = [trial for trial in trials if trial.text not in without]
    draw.shuffle(trials)
    return trials


def _silent_windows(
    activity: torch.Tensor, contexts: Contexts, draw: random.Random
) -> list[tuple[int, int]]:
    """Places around which a feature is not active, though it is elsewhere in their contexts."""
    found = []
    for n, length in enumerate(contexts.lengths.tolist()):
        position = draw.randrange(1, max(2, length))
        if not bool((activity[n, max(0, position - BEFORE) : position + AFTER + 1] > 0).any()):
            found.append((n, position))
    return found


def _window(reader: Reader, contexts: Contexts, context: int, position: int) -> str:
    stop = min(int(contexts.lengths[context]), position + AFTER + 1)
    ids = contexts.ids[context, max(0, position - BEFORE) : stop].tolist()
    return "".join(reader.pieces(ids))
