"""What moved between two sets of weights on the same texts, and which features moved with it.

1. **Read**   the log-probability of every token of the completions, and what dictionaries see at
   the positions that decide them, on either set of weights.
2. **Choose** features by how far they moved the residual stream there: change times length.
3. **Put back** each on the later weights: at every such position of a text its activation is set to
   what it was on the earlier ones. What of the gain goes is what the change of this feature does,
   everything after it recomputed. Random directions, as long at every position, stand beside it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

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
from sonde.sae.seen import PromptFeatures, look
from sonde.schema import Hook

RUN = "sonde.gained"

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
    """What of the gain goes when a feature is put back, and with random directions."""

    effect: float
    random: tuple[float, ...]


def read(backend: Backend, texts: Sequence[Text], saes: Saes) -> Reading:
    """What the loaded weights make of the texts."""
    hooks: dict[int, Hook] = {layer: hook_of(sae) for layer, sae in saes.items()}
    known = [(text.tokens, text.readout) for text in texts]
    logprobs = [np.array(row) for row in backend.baselines(known, list(set(hooks.values())))]
    active: dict[int, list[Active]] = {layer: [] for layer in saes}
    for text in texts if saes else ():
        every = tuple(range(len(text.tokens)))
        held = backend.capture(RUN, text.tokens, sorted(set(hooks.values())), list(saes), every)
        try:
            for layer, sae in saes.items():
                [x] = backend.read(RUN, [Site(hooks[layer], layer, every)])
                active[layer].append(_active(look(sae, x), text))
        finally:
            backend.drop(RUN, held.generation)
    return Reading(backend.describe().weights, logprobs, active)


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
    sums = np.zeros((len(chosen), 1 + draws))
    sites: dict[int, Hook] = {layer: hook_of(sae) for layer, sae in saes.items()}
    directions = [_directions(saes[move.layer], move, draws, seed) for move in chosen]
    asked: list[tuple[int, list[tuple[int, int]]]] = []

    def work() -> Iterator[Work]:
        for number, text in enumerate(texts):
            rows, which = [], []
            for place, move in enumerate(chosen):
                here = {at: back for (of, at), back in move.strength.items() if of == number}
                site = sites[move.layer], move.layer
                for draw, direction in enumerate(directions[place] if here else ()):
                    rows.append(_row(*site, here, direction))
                    which.append((place, draw))
            if rows:
                asked.append((number, which))
                say(f"putting features back in text {number + 1} of {len(texts)}")
                yield Work(text.tokens, rows, text.readout)

    for scores in backend.score(work()):
        number, which = asked[scores.work]
        base = after.logprobs[number].sum()
        for row, values in zip(scores.rows, scores.values, strict=True):
            sums[which[row]] += base - values.sum()
    return {
        (move.layer, move.feature): Undone(float(row[0]), tuple(row[1:].tolist()))
        for move, row in zip(chosen, sums, strict=True)
    }


def _directions(sae: Autoencoder, move: Move, draws: int, seed: int) -> list[Vector]:
    """A feature's own decoder row, then random ones of its length."""
    own: Vector = sae.W_dec[move.feature].detach().cpu().numpy().astype(np.float32)
    length = np.float32(np.linalg.norm(own))
    drawn = (random_direction(len(own), seed, move.feature, draw) for draw in range(draws))
    return [own, *(length * each for each in drawn)]


def _row(hook: Hook, layer: int, back: Mapping[int, float], direction: Vector) -> Row:
    """So much of a direction added at each position."""
    source = FromVector(direction)
    return Row(
        tuple(
            Write(Site(hook, layer, (at,)), source, strength, how="add")
            for at, strength in back.items()
        )
    )
