"""What a row of the feature axis adds to the activations, position by position.

A feature is patched, removed or clamped by adding so much of its decoder row: everything else that
stands there stays, what the dictionary leaves over too. An error that is taken from the edited
reconstruction would put the feature back and make every row a no-op.

Below the features stand three rows that are none: all of them at once, what they leave over, and
both. Both together make the patched residual stream the clean one, so that nothing is missing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from sonde.backends.base import FromVector, Row, Site, Vector, Write
from sonde.errors import BadRequest
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.seen import PromptFeatures, Share, direction_of, explained, rebuilt

How = Literal["patch", "remove", "clamp"]
OTHER_ROWS: Final = ("all features", "error", "all + error")
"""What stands below the features: all at once, what the dictionary leaves over, and both."""
NOTHING: Final = Share(0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Change:
    """What one row adds: at each position so much of a vector."""

    value: int | str
    """The feature's number, or which other row it is."""
    label: str
    amounts: Mapping[int, float]
    """By position, wherever it writes."""
    vectors: FromVector | Mapping[int, FromVector]
    """One for all positions, or one for each."""
    told: Mapping[int, float]
    """What the table says of each position beside the number."""

    @property
    def most(self) -> float:
        """The largest of what is told."""
        return max(self.told.values(), key=abs, default=0.0)

    def vector_at(self, position: int) -> FromVector:
        """What is added there, so many times."""
        found = self.vectors
        return found if isinstance(found, FromVector) else found[position]

    @property
    def some_vector(self) -> FromVector:
        """One of those that are added, where any is."""
        return self.vector_at(next(iter(self.amounts)))

    def length_at(self, position: int) -> float:
        """How long what is added there is."""
        return abs(self.amounts[position]) * float(np.linalg.norm(self.vector_at(position).values))

    @property
    def length(self) -> float:
        """How long all of it is."""
        return float(np.sqrt(sum(self.length_at(position) ** 2 for position in self.amounts)))

    def among(self, positions: Iterable[int]) -> list[int]:
        """Those of some positions at which it writes."""
        return [position for position in positions if position in self.amounts]

    def row(self, site: Site, positions: Iterable[int], alpha: float) -> Row:
        """The row that writes at some positions; where it writes at none, the baseline."""
        return Row(
            tuple(
                Write(
                    Site(site.hook, site.layer, (at,)),
                    self.vector_at(at),
                    alpha * self.amounts[at],
                    how="add",
                )
                for at in self.among(positions)
            )
        )


@dataclass(frozen=True, eq=False)
class Sight:
    """What a dictionary sees of a prompt, and what stands where it writes."""

    seen: PromptFeatures
    read: Vector
    """The activations that it encodes: [positions, width]."""
    written: Vector
    """Those that are written to: the same, unless it is a transcoder."""


@dataclass(frozen=True, eq=False)
class Changes:
    """Every row that a prompt may have."""

    autoencoder: Autoencoder
    layer: int
    how: How
    value: float
    """With `clamp`: the activation instead."""
    corrupt: Sight
    clean: Sight | None
    takes: Mapping[int, Sequence[int]]
    """With `patch`: the clean positions of each corrupt one; of several the mean is taken."""

    @property
    def positions(self) -> list[int]:
        """Where anything may be written, in order."""
        read = self.corrupt.seen.positions
        if self.how != "patch":
            return read
        assert self.clean is not None
        there = self.clean.seen.row
        return [p for p in read if p in self.takes and all(q in there for q in self.takes[p])]

    def active(self) -> list[int]:
        """The features that are active in either prompt, in order of their numbers."""
        found = {*self.corrupt.seen.shares}
        if self.how == "patch" and self.clean is not None:
            found |= {*self.clean.seen.shares}
        return sorted(found)

    def feature(self, number: int) -> Change:
        """The row of one feature; it writes nowhere where the feature is not active."""
        amounts, told = {}, {}
        here = self.corrupt.seen.shares.get(number, {})
        there = {} if self.clean is None else self.clean.seen.shares.get(number, {})
        for at in self.positions:
            share = here.get(at)
            if self.how == "remove":
                if share is not None:
                    amounts[at], told[at] = -share.strength, share.activation
                continue
            was = share or NOTHING
            if self.how == "clamp":
                amounts[at] = self.value * self.corrupt.seen.scale_at(at) - was.strength
                told[at] = self.value - was.activation
                continue
            taken = [there.get(clean, NOTHING) for clean in self.takes[at]]
            if share is not None or any(each.activation for each in taken):
                amounts[at] = _mean([each.strength for each in taken]) - was.strength
                told[at] = _mean([each.activation for each in taken]) - was.activation
        direction = FromVector(direction_of(self.autoencoder, number))
        return Change(number, f"{self.layer}:{number}", amounts, direction, told)

    def others(self) -> list[Change]:
        """The rows that are no single feature: all, what they leave over, and both."""
        if self.how == "clamp":
            raise BadRequest("an error has no activation to clamp; leave `error` out, or patch it")
        features, left = self._sums()
        each = (features, left, features + left)
        return [self._vectors(name, v) for name, v in zip(OTHER_ROWS, each, strict=True)]

    def _sums(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What all features, and what they leave over, are changed by at each position."""
        autoencoder, sight, positions = self.autoencoder, self.corrupt, self.positions
        rows = [sight.seen.row[position] for position in positions]
        added = explained(autoencoder, sight.seen)[rows]
        if self.how == "remove":
            made = rebuilt(autoencoder, sight.seen, sight.read)[rows]
            return -added, made - sight.written[positions]
        clean = self.clean
        assert clean is not None
        left = sight.written[positions] - added
        from_clean = explained(autoencoder, clean.seen)
        others = [[clean.seen.row[q] for q in self.takes[p]] for p in positions]
        added_clean = np.array([from_clean[some].mean(axis=0) for some in others])
        values = clean.written.astype(np.float64)
        stood = np.array([values[[*self.takes[p]]].mean(axis=0) for p in positions])
        return added_clean - added, stood - added_clean - left

    def _vectors(self, name: str, values: NDArray[np.float64]) -> Change:
        vectors = values.astype(np.float32)
        return Change(
            name,
            name,
            dict.fromkeys(self.positions, 1.0),
            {p: FromVector(vectors[i]) for i, p in enumerate(self.positions)},
            {p: float(np.linalg.norm(vectors[i])) for i, p in enumerate(self.positions)},
        )


def _mean(values: Sequence[float]) -> float:
    return values[0] if len(values) == 1 else sum(values) / len(values)


def random_direction(width: int, seed: int, feature: int, draw: int) -> Vector:
    """Of length 1; a feature's are the same whichever others are asked for beside it."""
    drawn = np.random.default_rng([seed, feature, draw]).standard_normal(width, dtype=np.float32)
    return drawn / np.linalg.norm(drawn)


def sham(change: Change, direction: Vector) -> Change:
    """A direction in a row's place: at every position as long as what that adds."""
    lengths = {at: -change.length_at(at) for at in change.amounts}
    return Change(change.value, change.label, lengths, FromVector(direction), change.told)


def nearest_in_length(change: Change, others: Sequence[Change], n: int) -> list[Change]:
    """Of other rows, those whose change is most nearly as long; fewer where fewer change a thing.

    Of equally near ones the first.
    """
    own = change.length
    there = [(each, each.length) for each in others]
    lengths = sorted(
        ((abs(np.log(length / own)), i) for i, (_, length) in enumerate(there) if length and own),
    )
    return [there[i][0] for _, i in lengths[:n]]
