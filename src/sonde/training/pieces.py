"""What a training step hands over: completions, and what was read of each.

A step is made of pieces, one for every micro-batch on every rank. Tokens are thinned here, per
completion and by the same rule for all layers. When there is no room for everything, completions
are left out whole; they keep their line and their reward, and have nothing recorded.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sonde.training.recorder import Tokens

Parts = tuple[float | None, float | None, float | None, float | None]
"""R_A, R_B, R_C, R_D."""


@dataclass(frozen=True)
class Sample:
    """One completion, as the trainer knows it."""

    batch: int
    """Which generation batch it came from, counted from 0."""
    index: int
    """Which completion of that batch, over all ranks and before any shuffling."""
    group: int
    """Which prompt of that batch."""
    prompt: str
    completion: str
    prompt_tokens: int
    completion_tokens: int
    truncated: bool
    reward: float | None = None
    """R: None where the trainer has no rewards, or none for this one."""
    parts: Parts = (None, None, None, None)
    advantage: float | None = None
    invalid: bool = False
    """It does not parse, or its verifier raised."""


@dataclass(frozen=True, eq=False)
class PassSlice:
    """Some completions of one forward pass, and the activations of their recorded tokens."""

    samples: tuple[Sample, ...]
    lengths: tuple[int, ...]
    """How many completion tokens of each took part in the pass."""
    every: int
    """Every how many tokens one is recorded, counted per completion."""
    read: dict[int, Tensor]
    """By layer, [recorded tokens of all samples that are kept, width]."""
    kept: frozenset[int] | None = None
    """Which samples have their tokens in `read`; None for all."""
    prompts: bool = False
    """Whether the last tokens of prompts are in `read`, each after those of its completion."""

    def with_prompt(self, place: int) -> bool:
        """Whether the last token of a sample's prompt is read; of one token it is a sink."""
        return self.prompts and self.lengths[place] > 0 and self.samples[place].prompt_tokens > 1

    @property
    def counts(self) -> tuple[int, ...]:
        """How many tokens of each sample are in `read`."""
        return tuple(
            recorded(length, self.every) + self.with_prompt(place)
            if self.kept is None or place in self.kept
            else 0
            for place, length in enumerate(self.lengths)
        )

    @property
    def weight(self) -> int:
        """The bytes it holds on to."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self.read.values())

    def only(self, kept: frozenset[int]) -> "PassSlice":
        """The same with nothing recorded of the other samples."""
        chosen = [
            index
            for place, span in enumerate(spans(self.counts))
            if place in kept
            for index in range(*span)
        ]
        wanted = torch.tensor(chosen, dtype=torch.long)
        read = {
            layer: tensor.index_select(0, wanted.to(tensor.device))
            for layer, tensor in self.read.items()
        }
        return replace(self, read=read, kept=kept)


def recorded(length: int, every: int) -> int:
    """How many of `length` tokens are recorded: the first, and every `every`-th after it."""
    return len(range(0, length, every))


def spans(counts: Sequence[int]) -> list[tuple[int, int]]:
    """Where each of these many begins and ends, one after the other."""
    found, start = [], 0
    for count in counts:
        found.append((start, start + count))
        start += count
    return found


def places(
    positions: Sequence[Sequence[int]], every: int, of: Sequence[int] | None = None
) -> Tokens:
    """Every `every`-th of the given positions of each row, or of each part of the rows `of`."""
    thinned = [row[::every] for row in positions]
    numbers = range(len(thinned)) if of is None else of
    rows = [row for row, chosen in zip(numbers, thinned, strict=True) for _ in chosen]
    flat = [position for chosen in thinned for position in chosen]
    return Tokens(torch.tensor(rows, dtype=torch.long), torch.tensor(flat, dtype=torch.long))


def thin(pieces: Sequence[PassSlice], room: int) -> tuple[list[PassSlice], int]:
    """Leave completions out, whole and evenly, until the rest fits. -> pieces, how many left out"""
    total = sum(piece.weight for piece in pieces)
    if total <= room:
        return list(pieces), 0
    sizes = [len(piece.samples) for piece in pieces]
    chosen = evenly(sum(sizes), room / total)
    found = [
        piece.only(frozenset(place - first for place in chosen if first <= place < end))
        for piece, (first, end) in zip(pieces, spans(sizes), strict=True)
    ]
    return found, sum(sizes) - len(chosen)


def evenly(many: int, share: float) -> frozenset[int]:
    """This share of so many places, rounded down and spread evenly."""
    keep = int(many * share)
    return frozenset(place * many // keep for place in range(keep))
