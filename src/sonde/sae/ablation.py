"""Does a feature matter? Take it out, and see what becomes of the answer.

1. **Read**    the prompt's activations at the dictionary's site, and encode them.
2. **Remove**  one feature: subtract what it adds to the reconstruction. What the dictionary does
   not explain stays, so the change is the feature's alone.
3. **Score**   the answer against its strongest rival, with the feature removed at one position,
   and at all of its positions. A difference of logits, because the log-probability of an answer
   that is all but certain does not move.
4. **Compare** with directions drawn at random, as long as what was removed: most of what a large
   change does, any large change does.

Every removal is a patch like a sweep's, through the same engine. Position 0 and other attention
sinks are left alone (see `buffer`): no dictionary was trained on them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from sonde.backends.base import Backend, FromVector, GenerateRequest, Patch, Row
from sonde.backends.torch.reading import Reader
from sonde.errors import BadRequest, EngineError
from sonde.sae.active import Active
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.buffer import counts
from sonde.sae.evaluate import hook_of
from sonde.schema import Hook
from sonde.schema.ablation import Ablation, FeatureEffect

TOP: Final = 8
"""Features that are tried where none are named."""
DRAWS: Final = 19
"""Random directions for each feature: the smallest p is then 0.05."""


@dataclass(frozen=True, eq=False)
class Seen:
    """What the dictionary sees of one prompt."""

    hook: Hook
    layer: int
    activations: Tensor
    """[positions, width], float32"""
    read: Tensor
    """Which positions are read, bool [positions]."""
    active: Active
    """Of the positions that are read."""


def ablate(
    backend: Backend,
    reader: Reader,
    autoencoder: Autoencoder,
    tokens: Sequence[int],
    answer: int,
    *,
    layer: int,
    features: Sequence[int] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Ablation:
    """Remove features from a prompt, one at a time. Without `features`, the strongest at its end.

    Features that are not active in this prompt are named in the result, as there is nothing to
    remove of them. `layer` is the one whose activations are read and changed, as a dictionary's
    file need not say which it belongs to.
    """
    seen = look(reader, autoencoder, tokens, layer)
    chosen = list(features) if features is not None else strongest(seen, TOP)
    added = {each: contribution(seen, autoencoder, each) for each in chosen}
    pieces = {each: piece for each, piece in added.items() if piece}
    if not pieces:
        raise BadRequest(
            f"of the features {chosen} of layer {layer} none is active in this prompt, so there is "
            f"nothing to remove; the strongest at its end are {strongest(seen, TOP)}"
        )
    generator = torch.Generator().manual_seed(seed)
    shams = {
        each: [random_like(piece, generator) for _ in range(draws)]
        for each, piece in pieces.items()
    }
    changes: list[Mapping[int, Tensor]] = [{}]
    for each, piece in pieces.items():
        changes += [{at: piece[at]} for at in piece]
        changes += [piece, *shams[each]]
    logprob, foil = _rival(backend, tokens, answer)
    scores = iter(_scored(backend, seen, tokens, changes, [answer, foil]))
    baseline, unchanged = next(scores), next(scores)
    found = [
        _effect(each, piece, seen, [next(scores) - baseline for _ in range(len(piece) + 1 + draws)])
        for each, piece in pieces.items()
    ]
    about = backend.describe()
    return Ablation(
        model=about.name,
        weights=about.weights,
        dictionary=autoencoder.origin.sha256 or autoencoder.origin.format,
        hook=seen.hook,
        layer=layer,
        tokens=reader.pieces(tokens),
        answer=reader.pieces([answer])[0],
        answer_id=answer,
        foil=reader.pieces([foil])[0],
        foil_id=foil,
        logprob=logprob,
        baseline=baseline,
        control=abs(unchanged - baseline),
        features=sorted(found, key=lambda effect: -abs(effect.everywhere)),
        silent=[each for each in added if each not in pieces],
    )


@torch.inference_mode()
def look(reader: Reader, autoencoder: Autoencoder, tokens: Sequence[int], layer: int) -> Seen:
    """What the dictionary sees of a prompt."""
    if autoencoder.is_transcoder:
        raise BadRequest(
            f"{autoencoder!r} is a transcoder: it does not rebuild what it reads; give an "
            "autoencoder that does"
        )
    if len(tokens) < 2:
        raise BadRequest("a prompt of one token: position 0 is an attention sink and is not read")
    hook = hook_of(autoencoder)
    ids = torch.tensor([list(tokens)])
    taken = reader.activations(ids, hook, [layer])[layer].float()
    read = counts(taken, torch.tensor([len(tokens)]))[0]
    return Seen(hook, layer, taken[0], read, autoencoder.encode(taken[0][read]))


def strongest(seen: Seen, n: int) -> list[int]:
    """The features most active at the last position, strongest first."""
    if not bool(seen.read[-1]):
        return []
    indices, _ = seen.active.rows()[-1]
    return indices[:n]


@torch.inference_mode()
def contribution(seen: Seen, autoencoder: Autoencoder, feature: int) -> dict[int, Tensor]:
    """What a feature adds to the reconstruction, by position: only where it is active."""
    x = seen.activations[seen.read]
    mine = seen.active.indices == feature
    without = Active(
        seen.active.indices,
        seen.active.values.where(~mine, 0.0),
        seen.active.offsets,
        seen.active.per_token,
    )
    added = autoencoder.decode(seen.active, x) - autoencoder.decode(without, x)
    there = seen.active.tokens[mine & (seen.active.values != 0)].tolist()
    positions = seen.read.nonzero()[:, 0].tolist()
    return {positions[token]: added[token] for token in there}


def random_like(piece: Mapping[int, Tensor], generator: torch.Generator) -> dict[int, Tensor]:
    """One direction for all positions, at each as long as what is there."""
    some = next(iter(piece.values()))
    direction = torch.randn(len(some), generator=generator).to(some)
    unit = direction / direction.norm()
    return {at: added.norm() * unit for at, added in piece.items()}


def _rival(backend: Backend, tokens: Sequence[int], answer: int) -> tuple[float, int]:
    """The answer's log-probability, and the likeliest other token."""
    request = GenerateRequest(tuple(tokens), max_tokens=1, logprob_ids=(answer,), top_logprobs=2)
    said = next(iter(backend.generate(request)))
    others = {token: value for token, value in said.logprobs.items() if token != answer}
    return said.logprobs[answer], max(others, key=lambda token: others[token])


def _scored(
    backend: Backend,
    seen: Seen,
    tokens: Sequence[int],
    changes: Sequence[Mapping[int, Tensor]],
    pair: Sequence[int],
) -> list[float]:
    """Logit differences of the unpatched prompt, then of each change.

    The empty change writes back what was read.
    """
    rows = [Row(computed=True), *(Row(tuple(_patches(seen, change)), True) for change in changes)]
    values = np.full(len(rows), np.nan)
    for part in backend.score(tokens, rows, pair):
        values[list(part.rows)] = part.logprobs[:, 0] - part.logprobs[:, 1]
    if not np.isfinite(values).all():
        raise EngineError(
            "a removal has no finite logit difference: try it in float32, or name other features"
        )
    return [float(value) for value in values]


def _patches(seen: Seen, change: Mapping[int, Tensor]) -> Iterator[Patch]:
    where = list(change) or seen.read.nonzero()[:, 0].tolist()
    for at in where:
        kept = seen.activations[at] if not change else seen.activations[at] - change[at]
        yield Patch(seen.hook, seen.layer, at, FromVector(kept.cpu().numpy().astype(np.float32)))


def _effect(
    feature: int, piece: Mapping[int, Tensor], seen: Seen, changes: Sequence[float]
) -> FeatureEffect:
    """From the changes of one feature: at each position, everywhere, and the random ones."""
    alone, everywhere, random = (
        changes[: len(piece)],
        changes[len(piece)],
        changes[len(piece) + 1 :],
    )
    n = len(seen.activations)
    effects: list[float | None] = [None] * n
    for at, change in zip(piece, alone, strict=True):
        effects[at] = change
    activations = [0.0] * n
    mine = seen.active.indices == feature
    positions = seen.read.nonzero()[:, 0].tolist()
    for token, value in zip(
        seen.active.tokens[mine].tolist(), seen.active.values[mine].tolist(), strict=True
    ):
        activations[positions[token]] = value
    as_much = sum(abs(change) >= abs(everywhere) for change in random)
    return FeatureEffect(
        feature=feature,
        activations=activations,
        effects=effects,
        everywhere=everywhere,
        random=list(random),
        p=(1 + as_much) / (1 + len(random)),
    )
