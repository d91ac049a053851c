"""What a task is: variants, each a product of word lists, and pairs drawn from them by a seed.

The same name, number and seed give the same pairs on every machine and version of Python: of its
random numbers only `random()` is used, which is promised never to change, and no set is walked.
Fewer pairs are the beginning of more.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from random import Random
from typing import Any

from sonde.errors import BadRequest
from sonde.schema.pair import PromptPair
from sonde.tasks.pairs import Pairs

LICENCE = "Apache-2.0"


@dataclass(frozen=True)
class Variant:
    """One sort of pairs of a task: everything that `make` gives for one word of each list."""

    name: str
    words: tuple[Sequence[Any], ...]
    make: Callable[..., PromptPair]

    @property
    def n(self) -> int:
        """How many distinct pairs there are."""
        return prod(len(each) for each in self.words)

    def pair(self, number: int) -> PromptPair:
        """The pair of that number, from 0."""
        chosen = []
        for each in self.words:
            number, place = divmod(number, len(each))
            chosen.append(each[place])
        return self.make(*chosen)


@dataclass(frozen=True)
class Task:
    """A behaviour, and pairs that show it."""

    name: str
    what: str
    """One sentence."""
    variants: tuple[Variant, ...]

    @property
    def n(self) -> int:
        """How many distinct pairs there are."""
        return sum(variant.n for variant in self.variants)

    def pairs(self, n: int = 200, seed: int = 0) -> Pairs:
        """So many of them, variants in turn while they last."""
        if not 1 <= n <= self.n:
            raise BadRequest(
                f"{n} pairs of {self.name!r}; there are {self.n} distinct ones: give 1 to {self.n}"
            )
        numbers = [
            _drawn(variant.n, Random(f"{self.name}/{variant.name}/{seed}"))
            for variant in self.variants
        ]
        found: list[PromptPair] = []
        while len(found) < n:
            for variant, left in zip(self.variants, numbers, strict=True):
                number = next(left, None)
                if number is not None and len(found) < n:
                    found.append(variant.pair(number))
        return Pairs(tuple(found), self.name, seed=seed, licence=LICENCE)


def _drawn(n: int, rng: Random) -> Iterator[int]:
    """0 to n − 1 in random order, made as far as it is asked for."""
    moved: dict[int, int] = {}
    for place in range(n):
        other = place + int(rng.random() * (n - place))
        yield moved.pop(other, other)
        if other != place:
            moved[other] = moved.pop(place, place)
