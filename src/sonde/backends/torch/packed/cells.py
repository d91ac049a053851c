"""One patched run, scheduled: where its writes act and when its rows join the batch.

There is one of these for every cell of a sweep, so they are plain tuples.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from sonde.backends.base import Write
from sonde.backends.reach import seen_from
from sonde.backends.torch.packed.rows import index_tensor
from sonde.backends.torch.packed.writes import Writes
from sonde.schema import HOOK_TABLE, Hook

Ints = NDArray[np.int64]


class PlacedWrite(NamedTuple):
    """One write, where it acts: `inside` a layer, or (None) on what enters it."""

    layer: int
    inside: Hook | None
    positions: tuple[int, ...]
    source: int
    """Index of its first position's values in the chunk's `Sources`; the others follow."""
    head: int | None = None
    readers: tuple[int, ...] | None = None
    """Of keys and values: the query heads that see it; None: all that read them."""

    @property
    def joins(self) -> int:
        """The layer that its cell's suffix has to be in the batch for.

        What attention computes with is written to the rows of the suffix itself. What comes after
        attention changes its own position only, and that row is computed alone.
        """
        if self.inside is None or HOOK_TABLE[self.inside].attention == "in":
            return self.layer
        return self.layer + 1

    @property
    def in_function(self) -> bool:
        """Whether it is made by the attention function, and not by a hook on a module."""
        return self.inside is not None and HOOK_TABLE[self.inside].attention is not None

    @property
    def is_key(self) -> bool:
        """Whether it is written to keys or values."""
        return self.inside is not None and HOOK_TABLE[self.inside].per == "kv_head"

    def since(self, position: int) -> list["PlacedWrite"]:
        """The same from a position on."""
        if list(self.positions) != sorted(self.positions):
            return [each for each in self.one_by_one() if each.positions[0] >= position]
        n = bisect_left(self.positions, position)
        rest = self._replace(positions=self.positions[n:], source=self.source + n)
        return [rest] if rest.positions else []

    def one_by_one(self) -> list["PlacedWrite"]:
        """The same, a write for each position."""
        return [
            self._replace(positions=(position,), source=self.source + k)
            for k, position in enumerate(self.positions)
        ]


class Spread(NamedTuple):
    """Writes of cells, a row for each position: arrays of one length."""

    cells: Ints
    positions: Ints
    sources: Ints
    edits: Ints
    """Which of the writes it belongs to."""

    @staticmethod
    def of(edits: Sequence[tuple[int, PlacedWrite]]) -> "Spread":
        """Every position of every write, in order."""
        counts = np.array([len(patch.positions) for _, patch in edits], dtype=np.int64)
        number, within = spread(counts)
        cells = np.array([cell for cell, _ in edits], dtype=np.int64)
        sources = np.array([patch.source for _, patch in edits], dtype=np.int64)
        positions = end_to_end([patch.positions for _, patch in edits])
        return Spread(cells[number], positions, sources[number] + within, number)


def spread(counts: Ints) -> tuple[Ints, Ints]:
    """Groups of so many: the group of each member, and its number within the group."""
    group = np.repeat(np.arange(len(counts)), counts)
    starts = np.cumsum(counts) - counts
    return group, np.arange(len(group)) - starts[group]


def end_to_end(parts: Iterable[tuple[int, ...]]) -> Ints:
    """Many tuples of positions as one array; there are thousands, and few that differ."""
    arrays = [_as_array(part) for part in parts]
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)


@lru_cache(maxsize=4096)
def _as_array(part: tuple[int, ...]) -> Ints:
    made = np.array(part, dtype=np.int64)
    made.setflags(write=False)
    return made


class PackedCell(NamedTuple):
    """One patched run: its writes, and when its suffix joins the packed batch."""

    row: int
    """The caller's row."""
    patches: tuple[PlacedWrite, ...]
    first: int
    """First position of its suffix."""
    joins: int
    """The layer its suffix enters; L when only the last residual changes."""
    alone: tuple[int, ...]
    """Positions computed alone in the layer before it joins, because they change inside it."""
    prompt: int = 0
    """Which of the prompts that are run together."""
    reads: tuple[int, ...] = ()
    """The positions that are read; none means the last alone, which costs the least."""

    def moved(self, base: int) -> "PackedCell":
        """With its sources counted from elsewhere."""
        patches = tuple(
            [
                PlacedWrite(p.layer, p.inside, p.positions, base + p.source, p.head, p.readers)
                for p in self.patches
            ]
        )
        return PackedCell(
            self.row, patches, self.first, self.joins, self.alone, self.prompt, self.reads
        )

    @property
    def n_sources(self) -> int:
        """Vectors this cell writes; one, where memory is reckoned, if it writes none."""
        return max(1, sum([len(patch.positions) for patch in self.patches]))

    def token_layers(self, n_layers: int, n_tokens: int) -> int:
        """Rows times layers this cell needs."""
        return max(n_layers - self.joins, 0) * (n_tokens - self.first) + len(self.alone)


@dataclass(frozen=True)
class Sources:
    """What is written: values [n, width], weights [n, 1] or [n, width]; None replaces."""

    values: Tensor
    weight: Tensor | None
    adds: Tensor | None = None
    """[n, 1], true where the value is added to what is there; None when it never is."""

    def writes(self, rows: Sequence[int] | Ints, sources: Sequence[int] | Ints) -> Writes:
        """The writes of some sources to some rows."""
        device = self.values.device
        return self.to(index_tensor(rows, device), index_tensor(sources, device))

    def to(self, rows: Tensor, sources: Tensor) -> Writes:
        """The same, of indices that are on the device already."""
        weight = None if self.weight is None else self.weight.index_select(0, sources)
        adds = None if self.adds is None else self.adds.index_select(0, sources)
        return Writes(rows, self.values.index_select(0, sources), weight, adds)


def plan_cell(
    row: int,
    patches: Sequence[PlacedWrite],
    n_layers: int,
    reads: Sequence[int],
    *,
    local: bool = True,
    prompt: int = 0,
    several: bool = False,
) -> PackedCell | None:
    """Schedule one patched run; None when no write can reach what is read.

    `reads` are the positions that are read, lowest first, and the last of them ends the prompt
    as far as this run goes. After attention a layer's positions do
    not see one another where it is `local`; the recurrent MLPs of some models do mix them. With
    `several`, every read is told, and not only the last position's.
    """
    told = tuple(reads) if several else ()
    last = reads[-1]
    live: list[PlacedWrite] = []
    for patch in patches:
        seen = seen_from(patch.inside, patch.layer, local=local) < n_layers
        if seen and patch.positions and max(patch.positions) <= last:  # nearly always
            live.append(patch)
        else:
            live += [
                each
                for each in patch.one_by_one()
                if (at := each.positions[0]) in reads or (seen and at <= last)
            ]
    if not live:
        return None
    if len(live) == 1 and len(live[0].positions) == 1:
        (only,) = live
        by_itself = only.positions if only.joins > only.layer else ()
        return PackedCell(row, tuple(live), only.positions[0], only.joins, by_itself, prompt, told)
    entry = min([patch.layer for patch in live])
    here = [patch for patch in live if patch.layer == entry]
    first = min([min(patch.positions) for patch in live])
    if any([patch.joins == entry for patch in here]):
        return PackedCell(row, tuple(live), first, entry, (), prompt, told)
    alone = tuple(sorted({position for patch in here for position in patch.positions}))
    # Where attention itself makes the writes, and nearly all rows get one, they are the suffix.
    if 2 * len(alone) > last - first and all([patch.in_function for patch in here]):
        return PackedCell(row, tuple(live), first, entry, (), prompt, told)
    return PackedCell(row, tuple(live), first, entry + 1, alone, prompt, told)


def place(writes: Iterable[Write]) -> list[PlacedWrite]:
    """Where writes act: the residual leaving a layer is the one entering the next.

    Their values follow one another in the order of the writes.
    """
    out, source = [], 0
    for write in writes:
        hook, layer, positions, head, readers = (
            write.site.hook, write.site.layer, write.site.positions, write.site.head,
            write.site.readers,
        )  # fmt: skip
        enters = HOOK_TABLE[hook].enters
        if enters is None:
            out.append(PlacedWrite(layer, hook, positions, source, head, readers))
        else:
            out.append(PlacedWrite(layer + enters, None, positions, source))
        source += len(positions)
    return out
