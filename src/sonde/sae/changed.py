"""What two sets of weights say of the same texts, told: tokens, places, features.

Features are ranked by what putting them back undoes; where that was not tried, by what the reward
owes to them, and then by how their activity goes with it.
"""

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sonde.backends.base import Backend
from sonde.sae.gained import Feature, Move, Reading, Text, Undone
from sonde.sae.together import FEATURES, WHOLE, What
from sonde.schema.analytics import Coefficient
from sonde.schema.changed import Changed, FeatureMove, LayerMove, PlaceGain, Probe, TokenGain
from sonde.statistics.directions import alone, in_family

TOKENS, PLACES = 20, 40
"""Of each, the most."""
CONTEXT = 8
"""Tokens of it."""

Rewards = Mapping[Feature, Coefficient | None]


def text_of(backend: Backend, probe: Probe) -> Text | None:
    """A probe's tokens; None where its text does not come out at as many as were recorded.

    The end token of a completion that ended by itself has no text, and is learnt like any other.
    """
    prompt = backend.tokenize(probe.prompt)
    said = backend.tokenize(probe.completion, special=False)
    ends = backend.describe().end_ids
    if len(said) == probe.completion_tokens - 1 and ends:
        said = [*said, ends[0]]
    if (len(prompt), len(said)) != (probe.prompt_tokens, probe.completion_tokens) or not said:
        return None
    return Text((*prompt, *said), len(prompt))


def told(
    backend: Backend,
    steps: tuple[int, int],
    probes: Sequence[Probe],
    texts: Sequence[Text],
    before: Reading,
    after: Reading,
    *,
    moved: Sequence[Move],
    undone: Mapping[Feature, Undone],
    together: Mapping[tuple[int, What], Undone],
    rewards: Rewards,
    owed: Mapping[Feature, float],
    left_out: int,
    reasons: Sequence[str] = (),
) -> Changed:
    """The answer. `moved` are the features to tell of, in any order.

    `owed` is what the reward owes to those that were tested for it.
    """
    gains = [new - old for old, new in zip(before.logprobs, after.logprobs, strict=True)]
    tokens = _tokens(backend, texts, gains)
    tried = [undone.get((move.layer, move.feature)) for move in moved]
    family = in_family(
        [None if each is None else each.effect for each in tried],
        [() if each is None else each.random for each in tried],
    )
    features = [
        _feature(
            move,
            texts,
            gains,
            each,
            p,
            owed.get((move.layer, move.feature)),
            rewards.get((move.layer, move.feature)),
        )
        for move, each, p in zip(moved, tried, family, strict=True)
    ]
    gained = sorted(tokens, key=lambda each: -each.gain)
    return Changed(
        made=time.time(),
        first=steps[0],
        last=steps[1],
        weights=[before.weights, after.weights],
        probes=len(texts),
        left_out=left_out,
        tokens=sum(map(len, gains)),
        gain=float(sum(each.sum() for each in gains)),
        by_place=_by_place(gains),
        gained=[each for each in gained if each.gain > 0][:TOKENS],
        lost=[each for each in reversed(gained) if each.gain < 0][:TOKENS],
        places=_places(backend, probes, texts, before, after),
        features=sorted(features, key=_rank),
        layers=[*_layers(together, WHOLE), *_layers(together, FEATURES)],
        reasons=list(reasons),
    )


def _tokens(
    backend: Backend, texts: Sequence[Text], gains: Sequence[NDArray[np.float64]]
) -> list[TokenGain]:
    """By token, wherever it was said."""
    total: defaultdict[int, float] = defaultdict(float)
    count: Counter[int] = Counter()
    for text, each in zip(texts, gains, strict=True):
        for token, gain in zip(text.tokens[text.start :], each.tolist(), strict=True):
            total[token] += gain
            count[token] += 1
    spelt = _spelling(backend)
    return [
        TokenGain(token=spelt(token), count=n, gain=total[token], mean=total[token] / n)
        for token, n in count.items()
    ]


def _spelling(backend: Backend) -> Callable[[int], str]:
    """What a token is called; one that ends completions has no text."""
    ends = set(backend.describe().end_ids)

    def spelt(token: int) -> str:
        return "⟨end⟩" if token in ends else backend.detokenize([token])

    return spelt


def _by_place(gains: Sequence[NDArray[np.float64]]) -> list[float]:
    sums = np.zeros(max(map(len, gains), default=0))
    for each in gains:
        sums[: len(each)] += each
    found: list[float] = sums.tolist()
    return found


def _places(
    backend: Backend,
    probes: Sequence[Probe],
    texts: Sequence[Text],
    before: Reading,
    after: Reading,
) -> list[PlaceGain]:
    """The single tokens that gained the most."""
    spelt = _spelling(backend)
    every = [
        (new - old, which, index)
        for which in range(len(texts))
        for index, (old, new) in enumerate(
            zip(before.logprobs[which].tolist(), after.logprobs[which].tolist(), strict=True)
        )
    ]
    most = sorted(every, key=lambda each: (-each[0], each[1:]))[:PLACES]
    found = []
    for gain, which, index in most:
        text = texts[which]
        at = text.start + index
        context = text.tokens[max(0, at - CONTEXT) : at]
        if gain > 0:
            found.append(
                PlaceGain(
                    generation_id=probes[which].generation_id,
                    token=spelt(text.tokens[at]),
                    index=index,
                    context=backend.detokenize(context),
                    before=float(before.logprobs[which][index]),
                    after=float(after.logprobs[which][index]),
                )
            )
    return found


def _feature(
    move: Move,
    texts: Sequence[Text],
    gains: Sequence[NDArray[np.float64]],
    tried: Undone | None,
    p_family: float | None,
    owed: float | None,
    with_reward: Coefficient | None,
) -> FeatureMove:
    change = [np.zeros(len(each)) for each in gains]
    for (which, at), value in move.activation.items():
        change[which][at - texts[which].places.start] = value
    return FeatureMove(
        layer=move.layer,
        feature=move.feature,
        places=len(move.activation),
        moved=float(np.mean(list(move.activation.values()))),
        with_gain=_correlation(np.concatenate(change), np.concatenate(list(gains))),
        undone=None if tried is None else tried.effect,
        random=[] if tried is None else list(tried.random),
        p=None if tried is None else alone(tried.effect, tried.random),
        p_family=p_family,
        reward=owed,
        with_reward=with_reward,
    )


def _layers(together: Mapping[tuple[int, What], Undone], what: What) -> list[LayerMove]:
    each = [(layer, found) for (layer, of), found in together.items() if of == what]
    family = in_family([found.effect for _, found in each], [found.random for _, found in each])
    return [
        LayerMove(
            layer=layer,
            what=what,
            undone=found.effect,
            random=list(found.random),
            p=alone(found.effect, found.random),
            p_family=p,
        )
        for (layer, found), p in zip(each, family, strict=True)
    ]


def _correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> float | None:
    x, y = x - x.mean(), y - y.mean()
    size = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / size if size > 0 else None


def _rank(each: FeatureMove) -> tuple[float, ...]:
    with_reward = abs(each.with_reward.r) if each.with_reward is not None else 0.0
    tried, reward = each.undone is not None, abs(each.reward or 0.0)
    return (-tried, -abs(each.undone or 0.0), -reward, -with_reward, each.layer, each.feature)
