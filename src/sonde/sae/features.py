"""Say what features mean: where they are active, on what, and which tokens they promote.

1. **Find**    of every feature some contexts over its whole range (`peaks`), and what it does over
   much text (`habits`).
2. **Cut**     a few tokens around each peak; equal snippets are kept once.
3. **Project** each decoder row to the vocabulary: how the logits change when a little of it is
   added to an average final residual, by the model's own final norm and unembedding. What random
   directions change as much is left out.
4. **Compare** decoder rows, for each feature's neighbours.

The third is the direct way only. What later layers make of a feature is a question for a sweep.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

from sonde.backends.torch.reading import Reader
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.buffer import counts, passes
from sonde.sae.corpus import Contexts
from sonde.sae.habits import Habits, read_habits
from sonde.sae.peaks import AFTER, BEFORE, TOP, Peaks, find_peaks
from sonde.schema.feature import Feature, Neighbour, Part, Snippet, TokenShare

SNIPPETS: Final = 21
HIGHEST: Final = 10
"""Of those, from the highest peaks."""
PROMOTED: Final = 8
SUPPRESSED: Final = 4
NEIGHBOURS: Final = 4
NEAR: Final = 0.2
"""Cosine from which a feature is a neighbour."""
COMMON: Final = 0.05
"""Share of a feature's activity from which a token is said to be common there."""
STEP: Final = 0.1
"""How much of a direction is added, as a share of the residual's length: little, for a slope."""
ROWS: Final = 256
TYPICAL: Final = 256
"""Features over which it is measured how much each token's logit moves as a rule."""
CHANCE: Final = 0.5
"""The quantile of what random directions reach, above which a change says something."""


@dataclass(frozen=True, eq=False)
class Promotion:
    """Which tokens each feature moves most, and how far."""

    tokens: Tensor
    """[d_sae, some]"""
    by: Tensor
    """In standard deviations of the token's movement over features; always positive."""
    chance: float
    """How far random directions move the token they move most, as a rule."""


def describe(
    reader: Reader,
    autoencoder: Autoencoder,
    layer: int,
    contexts: Contexts,
    report: Callable[[str], None] = lambda _doing: None,
    *,
    kinds: Sequence[str] = (),
    quoted: Contexts | None = None,
) -> list[Feature]:
    """All features of an autoencoder, described over these contexts; snippets are of `quoted`."""
    report(f"layer {layer}: where features are active")
    shown = contexts if quoted is None else quoted
    peaks = find_peaks(reader, autoencoder, layer, shown)
    habits = read_habits(reader, autoencoder, layer, contexts, max(1, len(kinds)))
    report(f"layer {layer}: which tokens features promote")
    raised, lowered = promoted_tokens(reader, autoencoder, average_final(reader, contexts))
    near = neighbours(autoencoder.W_dec)
    held = Peaks(*(t.cpu() for t in vars(peaks).values()))
    pieces = reader.pieces(range(reader.model.get_output_embeddings().weight.shape[0]))
    return [
        Feature(
            feature=feature,
            rate=_short(float(habits.rate[feature])),
            **_promotions(pieces, "promoted", raised, feature),
            **_promotions(pieces, "suppressed", lowered, feature),
            snippets=_snippets(pieces, held, shown, feature),
            on=_common(pieces, habits, "on", feature),
            after=_common(pieces, habits, "after", feature),
            before=_common(pieces, habits, "before", feature),
            neighbours=[
                Neighbour(feature=other, cosine=_short(cosine))
                for other, cosine in zip(*(each[feature].tolist() for each in near), strict=True)
                if cosine >= NEAR
            ],
            kinds={
                kind: _short(float(habits.by_kind[number, feature]))
                for number, kind in enumerate(kinds)
            },
        )
        for feature in range(autoencoder.d_sae)
    ]


def neighbours(W_dec: Tensor) -> tuple[Tensor, Tensor]:
    """Each feature's nearest others by direction, and the cosines: both [d_sae, NEIGHBOURS]."""
    rows = torch.nn.functional.normalize(W_dec, dim=1)
    found = []
    for start in range(0, len(rows), ROWS):
        cosines = rows[start : start + ROWS] @ rows.T
        own = torch.arange(len(cosines), device=rows.device)
        cosines[own, start + own] = -2.0
        found.append(cosines.topk(min(NEIGHBOURS, len(rows) - 1), dim=1))
    return torch.cat([f.indices for f in found]), torch.cat([f.values for f in found])


def _promotions(pieces: Sequence[str], name: str, found: Promotion, feature: int) -> dict[str, Any]:
    """The tokens and by how much; none where the first is moved no more than by chance."""
    by = found.by[feature].tolist()
    if by[0] <= found.chance:
        return {name: [], f"{name}_by": []}
    tokens = [pieces[i] for i in found.tokens[feature].tolist()]
    return {name: tokens, f"{name}_by": [_short(value) for value in by]}


def _common(pieces: Sequence[str], habits: Habits, place: str, feature: int) -> list[TokenShare]:
    both = zip(
        habits.tokens[place][feature].tolist(), habits.shares[place][feature].tolist(), strict=True
    )
    return [
        TokenShare(token=pieces[token], share=_short(share))
        for token, share in both
        if share >= COMMON
    ]


def average_final(reader: Reader, contexts: Contexts) -> Tensor:
    """The mean residual leaving the last layer, over a few contexts. -> [width]"""
    last = reader.model.config.get_text_config().num_hidden_layers - 1
    some = next(passes(contexts, reader.device))
    read = reader.activations(some.ids, "post_block", [last])[last]
    return read[counts(read, some.lengths)].float().mean(0)


@torch.no_grad()
def promoted_tokens(
    reader: Reader, autoencoder: Autoencoder, final: Tensor
) -> tuple[Promotion, Promotion]:
    """Tokens each feature raises and lowers most: PROMOTED and SUPPRESSED of them.

    Most for them: some tokens' logits move more than others whatever is added, so each change is
    measured in the standard deviations it has over features.
    """
    rows = autoencoder.W_dec.to(final)
    some = _logit_changes(reader, final, rows[:: max(1, len(rows) // TYPICAL)])
    centre, spread = some.mean(0), some.std(0).clamp_min(1e-8)
    generator = torch.Generator().manual_seed(0)
    random = torch.randn(TYPICAL, rows.shape[1], generator=generator).to(rows)
    by_chance = (_logit_changes(reader, final, random) - centre) / spread
    parts = [
        (_logit_changes(reader, final, part) - centre) / spread for part in torch.split(rows, ROWS)
    ]
    found = []
    for sign, most in ((1, PROMOTED), (-1, SUPPRESSED)):
        top = [(sign * part).topk(most, dim=1) for part in parts]
        chance = float((sign * by_chance).amax(1).quantile(CHANCE))
        values, indices = (torch.cat(each) for each in zip(*top, strict=True))
        found.append(Promotion(indices, values, chance))
    return found[0], found[1]


def _logit_changes(reader: Reader, final: Tensor, rows: Tensor) -> Tensor:
    """How logits change when a little of each row is added to a residual. -> [rows, vocabulary]"""
    lengths = rows.norm(dim=1, keepdim=True).clamp_min(1e-8)
    directions = STEP * final.norm() * rows / lengths
    return reader.logits(final + directions) - reader.logits(final - directions)


def _snippets(
    pieces: Sequence[str], peaks: Peaks, contexts: Contexts, feature: int
) -> list[Snippet]:
    """The highest first; of those below, as many as there is room for."""
    out: list[Snippet] = []
    seen: set[tuple[int, ...]] = set()
    highest = float(peaks.values[0, feature])
    for rank in range(len(peaks.values)):
        value = float(peaks.values[rank, feature])
        context = int(peaks.contexts[rank, feature])
        position = int(peaks.positions[rank, feature])
        if value <= 0 or len(out) == SNIPPETS or (rank < TOP and len(out) == HIGHEST):
            continue
        first = max(0, position - BEFORE)
        stop = min(int(contexts.lengths[context]), position + AFTER + 1)
        ids = contexts.ids[context, first:stop].tolist()
        close = tuple(ids[max(0, position - first - 3) : position - first + 1])
        if close in seen:
            continue
        seen.add(close)
        skipped = BEFORE - (position - first)
        near = peaks.around[rank, feature][skipped : skipped + len(ids)].tolist()
        tokens = [pieces[i] for i in ids]
        part = part_of(rank, value, highest)
        out.append(Snippet(tokens=tokens, heat=_heat(near, value), value=_short(value), part=part))
    return out


def part_of(rank: int, value: float, highest: float) -> Part:
    """Its highest peaks are the top; of the others, what is above a third of those the middle."""
    if rank < TOP:
        return "top"
    return "middle" if value > highest / 3 else "low"


def _heat(values: Sequence[float], most: float) -> str:
    """One digit a token, 9 for the strongest; whatever is active at all is at least 1."""
    return "".join(str(max(1, round(9 * v / most)) if v > 0 else 0) for v in values)


def _short(value: float) -> float:
    """Three significant digits: nobody compares more."""
    return float(f"{value:.3g}")
