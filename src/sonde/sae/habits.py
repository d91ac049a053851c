"""What a feature does over much text: how often it is active, in which kinds of text, on what.

Counted over all kinds of text alike, quoted or not: only numbers and single tokens are kept.
"""

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from sonde.backends.torch.reading import Reader
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.buffer import counts, passes
from sonde.sae.corpus import Contexts
from sonde.sae.evaluate import hook_of

COMMONEST: Final = 4
"""Tokens kept of each feature, for each place."""
PLACES: Final = {"after": -1, "on": 0, "before": 1}
"""Which token is counted, from the one on which the feature is active."""


@dataclass(frozen=True, eq=False)
class Habits:
    """Counts over some text."""

    rate: Tensor
    """Share of tokens on which each feature is active. [d_sae]"""
    by_kind: Tensor
    """The same within each kind of text. [kinds, d_sae]"""
    tokens: dict[str, Tensor]
    """For each of PLACES the commonest tokens there. int64 [d_sae, COMMONEST]"""
    shares: dict[str, Tensor]
    """On what share of its activity each stands there; 0 where fewer. [d_sae, COMMONEST]"""


@torch.no_grad()
def read_habits(
    reader: Reader, autoencoder: Autoencoder, layer: int, contexts: Contexts, n_kinds: int = 1
) -> Habits:
    """What each feature does over these contexts."""
    device, d_sae = reader.device, autoencoder.d_sae
    vocabulary = reader.model.get_output_embeddings().weight.shape[0]
    by_kind = torch.zeros(n_kinds, d_sae, device=device)
    n_tokens = torch.zeros(n_kinds, device=device)
    seen: dict[str, list[Tensor]] = {place: [] for place in PLACES}
    first = 0
    for some in passes(contexts, device):
        read = reader.activations(some.ids, hook_of(autoencoder), [layer])[layer]
        chosen = counts(read, some.lengths)
        row, position = chosen.nonzero().T
        active = autoencoder.encode(read[chosen])
        on = active.values > 0
        token, feature = active.tokens[on], active.indices[on]
        kinds = contexts.kinds_of(slice(first, first + len(some))).to(device)[row]
        by_kind.index_put_(
            (kinds[token], feature), torch.ones_like(active.values[on]), accumulate=True
        )
        n_tokens += torch.bincount(kinds, minlength=n_kinds)
        ids = torch.nn.functional.pad(some.ids, (0, 1), value=-1).to(device)
        for place, offset in PLACES.items():
            there = ids[row, position + offset][token]
            key = feature * vocabulary + there
            seen[place].append(key[there >= 0])
        first += len(some)
    active_on = by_kind.sum(0)
    found = {place: _commonest(torch.cat(keys), vocabulary, d_sae) for place, keys in seen.items()}
    return Habits(
        rate=active_on / n_tokens.sum().clamp_min(1),
        by_kind=by_kind / n_tokens.clamp_min(1)[:, None],
        tokens={place: tokens for place, (tokens, _) in found.items()},
        shares={
            place: times / active_on.clamp_min(1)[:, None] for place, (_, times) in found.items()
        },
    )


def _commonest(keys: Tensor, vocabulary: int, d_sae: int) -> tuple[Tensor, Tensor]:
    """Of feature · vocabulary + token, each feature's commonest tokens, and how often they came."""
    pairs, times = torch.unique(keys, return_counts=True)
    order = times.argsort(descending=True, stable=True)
    pairs, times = pairs[order], times[order]
    order = (pairs // vocabulary).argsort(stable=True)
    feature, token, times = pairs[order] // vocabulary, pairs[order] % vocabulary, times[order]
    begins = torch.searchsorted(feature, torch.arange(d_sae, device=keys.device))
    rank = torch.arange(len(feature), device=keys.device) - begins[feature]
    kept = rank < COMMONEST
    tokens = torch.zeros(d_sae, COMMONEST, dtype=torch.int64, device=keys.device)
    counted = torch.zeros(d_sae, COMMONEST, device=keys.device)
    tokens[feature[kept], rank[kept]] = token[kept]
    counted[feature[kept], rank[kept]] = times[kept].float()
    return tokens, counted
