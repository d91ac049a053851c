"""Which features to test, where nobody names them: those that rewarded completions hang on.

A completion y was said with probability π(y). With a feature removed it would be said with π'(y),
and the mean reward would be that of R(y) π'(y) / π(y). One gradient a completion tells, to first
order, how far removing each feature would move log π(y). What leaves rewarded completions is what
a feature has to lose; where it goes instead, only sampling tells. So this only chooses.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sonde.backends.base import Backend, Column, Readout, Row, Site, Slope, Work
from sonde.errors import BadRequest
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.changes import Changes, How, Sight
from sonde.sae.evaluate import hook_of, hook_out_of
from sonde.sae.seen import look
from sonde.schema import Hook
from sonde.schema.table import FeatureAxis

MOST = 32
"""Completions that are looked at: as many of them, spread evenly, are enough to choose."""
RUN = "sonde.reward"

Said = tuple[tuple[int, ...], tuple[int, ...]]
"""A prompt and a completion."""


def chosen_features(
    backend: Backend,
    autoencoder: Autoencoder,
    axis: FeatureAxis,
    texts: Sequence[Said],
    rewards: NDArray[np.float64],
    top: int,
) -> tuple[list[int], str]:
    """The features with the most to lose, the most first; and how they were chosen."""
    every = [number for number, reward in enumerate(rewards.tolist()) if reward > 0]
    some = [every[i * len(every) // MOST] for i in range(MOST)] if len(every) > MOST else every
    if not some:
        raise BadRequest(
            "no completion has any reward, so there is nothing for a feature to lose; name the "
            "features to test"
        )
    lost: dict[int, float] = {}
    for number in some:
        for feature, moved in _moved(backend, autoencoder, axis, texts[number]):
            leaves = 1 - float(np.exp(min(moved, 0.0)))
            lost[feature] = lost.get(feature, 0.0) + float(rewards[number]) * leaves
    ranked = sorted(lost, key=lambda feature: (-lost[feature], feature))[:top]
    how = (
        f"{len(ranked)} of {len(lost)} active features, those whose change, to first order, takes "
        f"the most probability from {len(some)} rewarded completions; every reward here was sampled"
    )
    return ranked, how


def _moved(
    backend: Backend, autoencoder: Autoencoder, axis: FeatureAxis, text: Said
) -> Iterator[tuple[int, float]]:
    """How far each active feature's change moves the completion's log-probability."""
    prompt, said = text
    tokens = (*prompt, *said)
    hooks: list[Hook] = [hook_of(autoencoder), hook_out_of(autoencoder)]
    every = tuple(range(len(tokens)))
    held = backend.capture(RUN, tokens, list(dict.fromkeys(hooks)), [axis.layer], every)
    try:
        read, written = backend.read(RUN, [Site(hook, axis.layer, every) for hook in hooks])
    finally:
        backend.drop(RUN, held.generation)
    how: How = "clamp" if axis.how == "clamp" else "remove"
    sight = Sight(look(autoencoder, read), read, written)
    changes = Changes(autoencoder, axis.layer, how, axis.value or 0.0, sight, None, {})
    site = Site(hooks[1], axis.layer, every)
    made = [changes.feature(number) for number in changes.active()]
    rows: list[Row] = [change.row(site, change.amounts, 1.0) for change in made]
    places = range(len(prompt) - 1, len(tokens) - 1)
    readout = Readout(tuple(Column("logprob", tokens[at + 1], position=at) for at in places))
    slope = Slope(Work(tokens, rows, readout), (tuple(1.0 for _ in places),))
    for scores in backend.linearise([slope]):
        for row, values in zip(scores.rows, scores.values, strict=True):
            yield int(made[row].value), float(values[0])
