"""Where features are active: of each, the texts of its highest peaks and others from all its range.

1. **Peak**    of every feature in every context: how high, and where.
2. **Choose**  the highest few, and then peaks evenly spaced over all the rest: what a feature does
               most of the time is seldom what it does at its highest.
3. **Cut**     the feature's activations around each peak that was chosen, in a second pass.

Each peak is of another context, and the strongest there: a low one is the most that its text had.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from sonde.backends.torch.reading import Reader
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.buffer import counts, passes
from sonde.sae.corpus import Contexts
from sonde.sae.evaluate import hook_of

TOP: Final = 14
"""Highest peaks that are kept, from which equal snippets are dropped."""
SPACED: Final = 11
"""Peaks spaced over the rest."""
CHOSEN: Final = TOP + SPACED
BEFORE: Final = 10
AFTER: Final = 4
"""Tokens shown on either side of a peak."""
WINDOW: Final = BEFORE + 1 + AFTER
FEATURES_AT_ONCE: Final = 2048


@dataclass(frozen=True, eq=False)
class Peaks:
    """The chosen peaks of every feature over some contexts, highest first."""

    values: Tensor
    """[CHOSEN, d_sae]; 0 where a feature has fewer."""
    contexts: Tensor
    """Which context. [CHOSEN, d_sae]"""
    positions: Tensor
    """Which position of it. [CHOSEN, d_sae]"""
    around: Tensor
    """The feature's activation around the peak. [CHOSEN, d_sae, WINDOW]"""


@torch.no_grad()
def find_peaks(reader: Reader, autoencoder: Autoencoder, layer: int, contexts: Contexts) -> Peaks:
    """Of every feature, some contexts in which it is active, from the most to the least."""
    highest, where = [], []

    def note(dense: Tensor, _first: int) -> None:
        most = dense.max(1)
        highest.append(most.values)
        where.append(most.indices.to(torch.int16))

    _each_pass(reader, autoencoder, layer, contexts, note)
    values, chosen, positions = _choose(torch.cat(highest), torch.cat(where))
    around = values.new_zeros(*values.shape, WINDOW)
    offsets = torch.arange(-BEFORE, AFTER + 1, device=values.device)

    def cut(dense: Tensor, first: int) -> None:
        row, feature = torch.nonzero((chosen >= first) & (chosen < first + len(dense))).T
        near = positions[row, feature][:, None] + offsets
        inside = (near >= 0) & (near < dense.shape[1])
        context = (chosen[row, feature] - first)[:, None]
        found = dense[context, near.clamp(0, dense.shape[1] - 1), feature[:, None]]
        around[row, feature] = found.where(inside, 0.0)

    _each_pass(reader, autoencoder, layer, contexts, cut)
    return Peaks(values, chosen, positions, around)


def _each_pass(
    reader: Reader,
    autoencoder: Autoencoder,
    layer: int,
    contexts: Contexts,
    take: Callable[[Tensor, int], None],
) -> None:
    """Features of some contexts at a time [contexts, positions, d_sae], and the first's number."""
    hook, first = hook_of(autoencoder), 0
    for some in passes(contexts, reader.device):
        read = reader.activations(some.ids, hook, [layer])[layer]
        chosen = counts(read, some.lengths)
        size = max(1, DENSE // (autoencoder.d_sae * read.shape[1]))
        for start in range(0, len(read), size):
            part, mask = read[start : start + size], chosen[start : start + size]
            dense = part.new_zeros(*mask.shape, autoencoder.d_sae, dtype=torch.float32)
            dense[mask] = autoencoder.encode(part[mask]).dense(autoencoder.d_sae)
            take(dense, first + start)
        first += len(some)


DENSE: Final = 2**28
"""Numbers that exist at once: 1 GiB."""


def _choose(highest: Tensor, where: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Peaks and their positions [contexts, d_sae] -> values, contexts, positions [CHOSEN, d_sae].

    Where a feature is active in so few contexts that none would be left out, all are taken.
    """
    parts = []
    for peaks, places in zip(
        torch.split(highest, FEATURES_AT_ONCE, 1),
        torch.split(where, FEATURES_AT_ONCE, 1),
        strict=True,
    ):
        values, order = peaks.sort(dim=0, descending=True)
        active = (values > 0).sum(0)
        rank = torch.arange(CHOSEN, device=peaks.device)[:, None]
        spaced = TOP + (rank - TOP) * (active - 1 - TOP).clamp_min(0) // (SPACED - 1)
        rank = torch.where((rank < TOP) | (active <= CHOSEN), rank, spaced)
        enough = rank < active
        rank = rank.clamp(max=len(peaks) - 1)
        context = order.gather(0, rank)
        parts.append(
            (
                values.gather(0, rank).where(enough, 0.0),
                context.where(enough, -1),
                places.gather(0, context).long(),
            )
        )
    values, contexts, positions = (torch.cat(each, 1) for each in zip(*parts, strict=True))
    return values, contexts, positions
