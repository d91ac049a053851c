"""Whole layers put back: all of a layer's activation, and all features that changed in it at once.

What training does is rarely the work of one feature. All of the activation says whether what was
learned has come into the residual stream by that layer at all; all features together, how much of
that a dictionary describes. Where the first is nothing, what was learned comes later, and features
that take something away there push against others.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

import numpy as np

from sonde.backends.base import Backend, FromVector, Row, Vector
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.changes import random_direction
from sonde.sae.evaluate import hook_of
from sonde.sae.gained import LEAVING, Backs, Move, Reading, Saes, Text, Undone, added, put_back
from sonde.sae.seen import direction_of
from sonde.schema import Hook

What = Literal["all features", "all + error"]
FEATURES: Final[What] = "all features"
WHOLE: Final[What] = "all + error"

Pushes = Mapping[tuple[int, int], Vector]
"""What is added, by text and position."""


def undone_together(
    backend: Backend,
    texts: Sequence[Text],
    before: Reading,
    after: Reading,
    saes: Saes,
    moves: Sequence[Move],
    *,
    draws: int,
    seed: int,
    say: Callable[[str], None],
) -> dict[tuple[int, What], Undone]:
    """What of the gain goes with every layer, on the later weights. `moves` are all there are.

    Nothing of readings that have no layers.
    """
    if not after.stream:
        return {}
    asked: dict[tuple[int, What], Backs] = {}
    for layer, now in after.stream.items():
        whole = _activation(texts, before.stream[layer], now)
        asked[layer, WHOLE] = _backs(LEAVING, layer, whole, draws, seed)
    for layer, sae in saes.items():
        features = _features(sae, [move for move in moves if move.layer == layer])
        asked[layer, FEATURES] = _backs(hook_of(sae), layer, features, draws, seed)
    found = put_back(backend, texts, after, list(asked.values()), draws=draws, say=say)
    return dict(zip(asked, found, strict=True))


def _features(sae: Autoencoder, moves: Sequence[Move]) -> Pushes:
    """The sum of what puts every one of them back."""
    width = sae.W_dec.shape[1]
    found: defaultdict[tuple[int, int], Vector] = defaultdict(
        lambda: np.zeros(width, dtype=np.float32)
    )
    for move in moves:
        own = direction_of(sae, move.feature)
        for place, strength in move.strength.items():
            found[place] += np.float32(strength) * own
    return dict(found)


def _activation(texts: Sequence[Text], before: Sequence[Vector], after: Sequence[Vector]) -> Pushes:
    """How far the activation is from what it was, wherever it differs."""
    return {
        (number, at): was - now
        for number, text in enumerate(texts)
        for at, was, now in zip(text.places, before[number], after[number], strict=True)
        if (was != now).any()
    }


def _backs(hook: Hook, layer: int, pushes: Pushes, draws: int, seed: int) -> Backs:
    """The vectors themselves, then random directions as long as each of them."""
    here: defaultdict[int, dict[int, Vector]] = defaultdict(dict)
    for (text, at), push in pushes.items():
        here[text][at] = push
    width = len(next(iter(pushes.values()), ()))
    drawn = [
        FromVector(random_direction(width, seed, layer, n)) for n in range(draws if width else 0)
    ]

    def back(text: int) -> list[Row]:
        if text not in here:
            return []
        own = {at: (FromVector(push), 1.0) for at, push in here[text].items()}
        lengths = {at: float(np.linalg.norm(push)) for at, push in here[text].items()}
        random = ({at: (each, much) for at, much in lengths.items()} for each in drawn)
        return [added(hook, layer, adds) for adds in (own, *random)]

    return back
