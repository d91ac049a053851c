"""Say what features mean: where they are most active, and which tokens they promote.

1. **Read**    text once, and of every feature keep the contexts in which its peak is highest.
2. **Cut**     a few tokens around each peak; equal snippets are kept once.
3. **Project** each decoder row to the vocabulary: how the logits change when a little of it is
   added to an average final residual, by the model's own final norm and unembedding.

The third is the direct way only. What later layers make of a feature is a question for a sweep.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from sonde.backends.torch.reading import Reader
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.buffer import counts, passes
from sonde.sae.corpus import Contexts
from sonde.sae.evaluate import hook_of
from sonde.schema.feature import Feature, Snippet

SNIPPETS: Final = 4
CANDIDATES: Final = 12
"""Peaks kept of each feature, from which equal snippets are dropped."""
BEFORE: Final = 10
AFTER: Final = 4
"""Tokens shown on either side of a peak."""
PROMOTED: Final = 8
SUPPRESSED: Final = 4
STEP: Final = 0.1
"""How much of a direction is added, as a share of the residual's length: little, for a slope."""
ROWS: Final = 256
TYPICAL: Final = 256
"""Features over which it is measured how much each token's logit moves as a rule."""


@dataclass(frozen=True, eq=False)
class Peaks:
    """The highest peaks of every feature over some contexts, highest first."""

    values: Tensor
    """[CANDIDATES, d_sae]; 0 where a feature has fewer."""
    contexts: Tensor
    """Which context. [CANDIDATES, d_sae]"""
    positions: Tensor
    """Which position of it. [CANDIDATES, d_sae]"""
    around: Tensor
    """The feature's activation around the peak. [CANDIDATES, d_sae, BEFORE + 1 + AFTER]"""
    rate: Tensor
    """Share of tokens on which each is active. [d_sae]"""


def describe(
    reader: Reader,
    autoencoder: Autoencoder,
    layer: int,
    contexts: Contexts,
    report: Callable[[str], None] = lambda _doing: None,
) -> list[Feature]:
    """All features of an autoencoder, described over these contexts."""
    report(f"layer {layer}: where features are active")
    peaks = find_peaks(reader, autoencoder, layer, contexts)
    report(f"layer {layer}: which tokens features promote")
    raised, lowered = promoted_tokens(reader, autoencoder, average_final(reader, contexts))
    held = Peaks(*(t.cpu() for t in vars(peaks).values()))
    pieces = reader.pieces(range(reader.model.get_output_embeddings().weight.shape[0]))
    return [
        Feature(
            feature=feature,
            rate=_short(float(held.rate[feature])),
            promoted=[pieces[i] for i in raised[feature].tolist()],
            suppressed=[pieces[i] for i in lowered[feature].tolist()],
            snippets=_snippets(pieces, held, contexts, feature),
        )
        for feature in range(autoencoder.d_sae)
    ]


@torch.no_grad()
def find_peaks(reader: Reader, autoencoder: Autoencoder, layer: int, contexts: Contexts) -> Peaks:
    """Of every feature, the contexts in which it is most active."""
    hook, best = hook_of(autoencoder), None
    active = torch.zeros(autoencoder.d_sae, device=reader.device)
    n_tokens = first = 0
    for some in passes(contexts, reader.device):
        read = reader.activations(some.ids, hook, [layer])[layer]
        chosen = counts(read, some.lengths)
        dense = read.new_zeros(*chosen.shape, autoencoder.d_sae, dtype=torch.float32)
        dense[chosen] = autoencoder.encode(read[chosen]).dense(autoencoder.d_sae)
        active += (dense > 0).sum((0, 1))
        n_tokens += int(chosen.sum())
        found = _peaks_of(dense, first)
        best = found if best is None else _highest(best, found)
        first += len(some)
    assert best is not None
    return Peaks(*best, rate=active / max(n_tokens, 1))


_Found = tuple[Tensor, Tensor, Tensor, Tensor]


def _peaks_of(dense: Tensor, first: int) -> _Found:
    """Peaks in [contexts, positions, d_sae]; the first context has the number `first`."""
    highest, where = dense.max(1)
    values, contexts = highest.topk(min(CANDIDATES, len(dense)), dim=0)
    positions = where.gather(0, contexts)
    offsets = torch.arange(-BEFORE, AFTER + 1, device=dense.device)
    near = positions[..., None] + offsets
    inside = (near >= 0) & (near < dense.shape[1])
    column = torch.arange(dense.shape[2], device=dense.device)[None, :, None]
    around = dense[contexts[..., None], near.clamp(0, dense.shape[1] - 1), column] * inside
    return values, contexts + first, positions, around


def _highest(one: _Found, other: _Found) -> _Found:
    """The highest peaks of both."""
    values, contexts, positions, around = (
        torch.cat([a, b]) for a, b in zip(one, other, strict=True)
    )
    values, kept = values.topk(min(CANDIDATES, len(values)), dim=0)
    width = around.shape[2]
    return (
        values,
        contexts.gather(0, kept),
        positions.gather(0, kept),
        around.gather(0, kept[..., None].expand(-1, -1, width)),
    )


def average_final(reader: Reader, contexts: Contexts) -> Tensor:
    """The mean residual leaving the last layer, over a few contexts. -> [width]"""
    last = reader.model.config.get_text_config().num_hidden_layers - 1
    some = next(passes(contexts, reader.device))
    read = reader.activations(some.ids, "post_block", [last])[last]
    return read[counts(read, some.lengths)].float().mean(0)


@torch.no_grad()
def promoted_tokens(
    reader: Reader, autoencoder: Autoencoder, final: Tensor
) -> tuple[Tensor, Tensor]:
    """Tokens each feature raises and lowers most: [d_sae, PROMOTED] and [d_sae, SUPPRESSED].

    Most for them: some tokens' logits move more than others whatever is added, so each change is
    measured in the standard deviations it has over features.
    """
    rows = autoencoder.W_dec.to(final)
    some = _logit_changes(reader, final, rows[:: max(1, len(rows) // TYPICAL)])
    centre, spread = some.mean(0), some.std(0).clamp_min(1e-8)
    raised, lowered = [], []
    for part in torch.split(rows, ROWS):
        change = (_logit_changes(reader, final, part) - centre) / spread
        raised.append(change.topk(PROMOTED, dim=1).indices)
        lowered.append((-change).topk(SUPPRESSED, dim=1).indices)
    return torch.cat(raised), torch.cat(lowered)


def _logit_changes(reader: Reader, final: Tensor, rows: Tensor) -> Tensor:
    """How logits change when a little of each row is added to a residual. -> [rows, vocabulary]"""
    lengths = rows.norm(dim=1, keepdim=True).clamp_min(1e-8)
    directions = STEP * final.norm() * rows / lengths
    return reader.logits(final + directions) - reader.logits(final - directions)


def _snippets(
    pieces: Sequence[str], peaks: Peaks, contexts: Contexts, feature: int
) -> list[Snippet]:
    out: list[Snippet] = []
    seen: set[tuple[int, ...]] = set()
    for rank in range(len(peaks.values)):
        value = float(peaks.values[rank, feature])
        context = int(peaks.contexts[rank, feature])
        position = int(peaks.positions[rank, feature])
        first = max(0, position - BEFORE)
        stop = min(int(contexts.lengths[context]), position + AFTER + 1)
        ids = contexts.ids[context, first:stop].tolist()
        close = tuple(ids[max(0, position - first - 3) : position - first + 1])
        if value <= 0 or close in seen:
            continue
        seen.add(close)
        skipped = BEFORE - (position - first)
        near = peaks.around[rank, feature][skipped : skipped + len(ids)].tolist()
        tokens = [pieces[i] for i in ids]
        out.append(Snippet(tokens=tokens, heat=_heat(near, value), value=_short(value)))
        if len(out) == SNIPPETS:
            break
    return out


def _heat(values: Sequence[float], most: float) -> str:
    """One digit a token, 9 for the strongest; whatever is active at all is at least 1."""
    return "".join(str(max(1, round(9 * v / most)) if v > 0 else 0) for v in values)


def _short(value: float) -> float:
    """Three significant digits: nobody compares more."""
    return float(f"{value:.3g}")
