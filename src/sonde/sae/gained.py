"""What moved between two sets of weights on the same texts, and which features moved with it.

1. **Read**   the log-probability of every token of the completions, and what dictionaries see at
   the positions that decide them, on either set of weights.
2. **Choose** features by how far they moved the residual stream there: change times length.
3. **Put back** each on the later weights: at every such position of a text its activation is set to
   what it was on the earlier ones. What of the gain goes is what the change of this feature does,
   everything after it recomputed. Random directions, as long at every position, stand beside it.

Whole layers are put back the same way (`sonde.sae.together`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sonde.backends.base import (
    Backend,
    Column,
    FromVector,
    Readout,
    Row,
    Site,
    Vector,
    Work,
    Write,
)
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.changes import random_direction
from sonde.sae.evaluate import hook_of
from sonde.sae.seen import PromptFeatures, direction_of, look
from sonde.schema import Hook

RUN = "sonde.gained"
LEAVING: Final[Hook] = "post_block"
"""Where a layer is put back whole: what it passes on."""

Saes = Mapping[int, Autoencoder]
"""Dictionaries by layer."""
Feature = tuple[int, int]
"""Layer and number."""


@dataclass(frozen=True)
class Text:
    """A prompt and what was said after it."""

    tokens: tuple[int, ...]
    start: int
    """Where the completion begins."""

    @property
    def places(self) -> range:
        """The positions that decide the completion: each is before the token it decides."""
        return range(self.start - 1, len(self.tokens) - 1)

    @property
    def readout(self) -> Readout:
        """The log-probability of every token of the completion."""
        return Readout(
            tuple(Column("logprob", self.tokens[at + 1], position=at) for at in self.places)
        )


@dataclass(frozen=True)
class At:
    """One feature at one position: its activation, and what it adds, times its decoder row."""

    activation: float
    strength: float


Active = dict[int, dict[int, At]]
"""By feature and position, wherever one is active."""


@dataclass(frozen=True)
class Reading:
    """Some weights on some texts."""

    weights: str
    logprobs: list[NDArray[np.float64]]
    """Of every token of each completion."""
    active: dict[int, list[Active]]
    """By layer: of each text, at the positions that decide."""
    stream: dict[int, list[Vector]] = field(default_factory=dict)
    """By layer, of those that were asked for: the residual stream that leaves it, of each text, at
    the same positions. [position, width]"""


@dataclass(frozen=True)
class Move:
    """How a feature's part of the residual stream changed, at each position of each text."""

    layer: int
    feature: int
    strength: dict[tuple[int, int], float]
    """By text and position: what to add, times its decoder row, to put it back."""
    activation: dict[tuple[int, int], float]
    """How its activation changed."""
    pull: float
    """Change times length, all of it together."""


@dataclass(frozen=True)
class Undone:
    """What of the gain goes when something is put back, and with random directions."""

    effect: float
    random: tuple[float, ...]


Backs = Callable[[int], Sequence[Row]]
"""Of a text by its number: the row that puts something back, and one of each random direction as
long; no rows where nothing changed there."""


def read(
    backend: Backend, texts: Sequence[Text], saes: Saes, layers: Sequence[int] = ()
) -> Reading:
    """What the loaded weights make of the texts, and what leaves these layers."""
    hooks: dict[int, Hook] = {layer: hook_of(sae) for layer, sae in saes.items()}
    known = [(text.tokens, text.readout) for text in texts]
    logprobs = [np.array(row) for row in backend.baselines(known, list(set(hooks.values())))]
    active: dict[int, list[Active]] = {layer: [] for layer in saes}
    for text in texts if saes else ():
        every = tuple(range(len(text.tokens)))
        with _captured(backend, text, sorted(set(hooks.values())), list(saes), every):
            for layer, sae in saes.items():
                [x] = backend.read(RUN, [Site(hooks[layer], layer, every)])
                active[layer].append(_active(look(sae, x), text))
    stream: dict[int, list[Vector]] = {layer: [] for layer in layers}
    for text in texts if layers else ():
        # Only where completions are decided: every position of every layer would be gigabytes.
        places = tuple(text.places)
        with _captured(backend, text, [LEAVING], layers, places):
            for layer in layers:
                [x] = backend.read(RUN, [Site(LEAVING, layer, places)])
                stream[layer].append(x.copy())
    return Reading(backend.describe().weights, logprobs, active, stream)


@contextmanager
def _captured(
    backend: Backend,
    text: Text,
    hooks: Sequence[Hook],
    layers: Sequence[int],
    positions: Sequence[int],
) -> Iterator[None]:
    held = backend.capture(RUN, text.tokens, hooks, layers, positions)
    try:
        yield
    finally:
        backend.drop(RUN, held.generation)


def _active(seen: PromptFeatures, text: Text) -> Active:
    """The features at the positions that decide. Sinks are not read, and have none."""
    found: Active = {}
    entries = zip(
        seen.active.indices.tolist(),
        seen.active.tokens.tolist(),
        seen.active.values.tolist(),
        strict=True,
    )
    for feature, row, value in entries:
        position = seen.positions[row]
        if value and position in text.places:
            found.setdefault(feature, {})[position] = At(value, value * seen.scale[row])
    return found


def moves(before: Reading, after: Reading, saes: Saes) -> list[Move]:
    """Every feature that changed, the one that moved the residual stream furthest first."""
    found = []
    for layer, sae in saes.items():
        lengths = sae.W_dec.detach().float().norm(dim=1).cpu().numpy()
        pairs = list(zip(before.active[layer], after.active[layer], strict=True))
        for feature in sorted(set().union(*(set(one) | set(other) for one, other in pairs))):
            strength, activation = {}, {}
            for text, (one, other) in enumerate(pairs):
                was, now = one.get(feature, {}), other.get(feature, {})
                for position in sorted(was.keys() | now.keys()):
                    a, b = was.get(position, _NOTHING), now.get(position, _NOTHING)
                    if a.strength != b.strength:
                        strength[text, position] = a.strength - b.strength
                        activation[text, position] = b.activation - a.activation
            if strength:
                pull = float(lengths[feature]) * sum(map(abs, strength.values()))
                found.append(Move(layer, feature, strength, activation, pull))
    return sorted(found, key=lambda move: -move.pull)


_NOTHING = At(0.0, 0.0)


def undone(
    backend: Backend,
    texts: Sequence[Text],
    after: Reading,
    saes: Saes,
    chosen: Sequence[Move],
    *,
    draws: int,
    seed: int,
    say: Callable[[str], None],
) -> dict[Feature, Undone]:
    """What of the gain goes with each of these moves, on the loaded weights."""
    each = [_backs(saes[move.layer], move, draws, seed) for move in chosen]
    found = put_back(backend, texts, after, each, draws=draws, say=say)
    return {(move.layer, move.feature): one for move, one in zip(chosen, found, strict=True)}


def put_back(
    backend: Backend,
    texts: Sequence[Text],
    after: Reading,
    each: Sequence[Backs],
    *,
    draws: int,
    say: Callable[[str], None],
) -> list[Undone]:
    """What of the gain goes with each, over all texts together."""
    sums = np.zeros((len(each), 1 + draws))
    asked: list[tuple[int, list[tuple[int, int]]]] = []

    def work() -> Iterator[Work]:
        for number, text in enumerate(texts):
            rows, which = [], []
            for place, back in enumerate(each):
                for draw, row in enumerate(back(number)):
                    rows.append(row)
                    which.append((place, draw))
            if rows:
                asked.append((number, which))
                say(f"putting back in text {number + 1} of {len(texts)}")
                yield Work(text.tokens, rows, text.readout)

    for scores in backend.score(work()):
        number, which = asked[scores.work]
        base = after.logprobs[number].sum()
        for row, values in zip(scores.rows, scores.values, strict=True):
            sums[which[row]] += base - values.sum()
    return [Undone(float(row[0]), tuple(row[1:].tolist())) for row in sums]


def _backs(sae: Autoencoder, move: Move, draws: int, seed: int) -> Backs:
    """A feature's own decoder row, then random ones of its length."""
    own = direction_of(sae, move.feature)
    length = np.float32(np.linalg.norm(own))
    drawn = (random_direction(len(own), seed, move.feature, draw) for draw in range(draws))
    directions = [FromVector(each) for each in (own, *(length * one for one in drawn))]

    def back(text: int) -> list[Row]:
        here = {at: strength for (of, at), strength in move.strength.items() if of == text}
        if not here:
            return []
        site = hook_of(sae), move.layer
        return [added(*site, {at: (one, much) for at, much in here.items()}) for one in directions]

    return back


def added(hook: Hook, layer: int, adds: Mapping[int, tuple[FromVector, float]]) -> Row:
    """So much of a vector added at each position."""
    return Row(
        tuple(
            Write(Site(hook, layer, (at,)), source, strength, how="add")
            for at, (source, strength) in adds.items()
        )
    )
