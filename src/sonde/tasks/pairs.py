"""A collection of prompt pairs: what a study is about.

pairs = sonde.pairs("agreement", n=200)            # made from a name and a seed
pairs = sonde.Pairs.load("mine.jsonl")             # or of one's own
pairs = pairs.check(model)                         # those that this model gets right
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import overload

from sonde.errors import BadRequest
from sonde.schema.pair import PromptPair
from sonde.tasks.check import Loaded, Verdict, verdicts
from sonde.tasks.files import Dropped, as_line, named, read, write
from sonde.tasks.fitness import same_question, trouble


@dataclass(frozen=True)
class Pairs(Sequence[PromptPair]):
    """Pairs in their order, where they are from, and which were left out."""

    pairs: tuple[PromptPair, ...]
    name: str = "pairs"
    seed: int | None = None
    """Of a task; with its name all that the pairs follow from."""
    licence: str | None = None
    dropped: tuple[Dropped, ...] = ()
    """Left out: by line of the file, or by number among the pairs that were checked, from 0."""
    verdicts: tuple[Verdict, ...] = ()
    """After `check`: what the model made of every pair that was asked, those left out included."""

    @classmethod
    def of(cls, pairs: Iterable[PromptPair], *, name: str = "pairs") -> "Pairs":
        """Pairs made in Python, held to the same rules as those of a file."""
        found = tuple(pairs)
        bad = [Dropped(number, why) for number, why in _troubles(found)]
        if bad or not found:
            raise BadRequest(named(bad, "pair") if bad else "there are no pairs; give one or more")
        return cls(found, name)

    @classmethod
    def load(cls, path: str | Path, *, drop: bool = False) -> "Pairs":
        """Read JSON lines. A bad line is refused by its number; `drop` leaves it out and lists it.

        Each line has `clean`, `corrupt` and `answer`, and may have `foil`, `roles` and `cluster`.
        """
        good, bad = read(Path(path), drop=drop)
        return cls(tuple(good), Path(path).stem, dropped=tuple(bad))

    def save(self, path: str | Path) -> None:
        """Write them as JSON lines that `load` takes."""
        write(Path(path), self.pairs)

    def check(self, model: Loaded, *, one_token: bool = True) -> "Pairs":
        """Those that the model gets right on both prompts; the others are in `dropped`, with why.

        Right is: after the clean prompt the answer is likelier than the foil, after the corrupt one
        it is not. Without a foil: the answer is likelier after the clean prompt. With `one_token`,
        answers and foils of several tokens are left out too.
        """
        found = verdicts(self.pairs, model.backend, one_token=one_token)
        kept = [pair for pair, each in zip(self.pairs, found, strict=True) if each.reason is None]
        bad = [Dropped(n, each.reason) for n, each in enumerate(found) if each.reason is not None]
        if not kept:
            raise BadRequest(
                f"the model gets none of {len(found)} pairs right: {named(bad, 'pair')}"
            )
        return Pairs(
            tuple(kept),
            self.name,
            seed=self.seed,
            licence=self.licence,
            dropped=tuple(bad),
            verdicts=tuple(found),
        )

    @cached_property
    def digest(self) -> str:
        """A short name for exactly these pairs in this order."""
        text = "".join(f"{as_line(pair)}\n" for pair in self.pairs)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def clusters(self) -> list[str | None]:
        """The cluster of each pair, as statistics take them."""
        return [pair.cluster for pair in self.pairs]

    @overload
    def __getitem__(self, place: int) -> PromptPair: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[PromptPair]: ...
    def __getitem__(self, place: int | slice) -> PromptPair | Sequence[PromptPair]:
        return self.pairs[place]

    def __len__(self) -> int:
        return len(self.pairs)


def _troubles(pairs: Sequence[PromptPair]) -> Iterator[tuple[int, str]]:
    seen: dict[str, int] = {}
    for number, pair in enumerate(pairs):
        first = seen.setdefault(same_question(pair), number)
        why = trouble(pair) if first == number else f"the same as pair {first}"
        if why:
            yield number, why
