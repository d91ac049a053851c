"""Which prompts are run together: those whose cells share chunks.

Enough of them to fill some chunks, few enough to be kept, and none whose cells would have other
bits beside one another's.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from sonde.backends.base import Work
from sonde.backends.check import check_work
from sonde.backends.torch.path import Path
from sonde.schema import ModelDescription

CPU_CHUNKS: Final = 8
GPU_CHUNKS: Final = 1
"""Chunks for which the cells of several prompts are collected."""
GPU_START: Final = 0.25
"""On a GPU a window is planned while the one before it runs, and nothing runs while the first is
planned: so it is this part of a chunk, and the next ones are twice as large until they fill one."""
PROMPTS: Final = 64
"""Prompts that are run together at most."""
CPU_ROWS: Final = 512
GPU_ROWS: Final = 8192
"""Tokens of unpatched prompts that are run side by side."""

Numbered = tuple[int, Work]


def together(work: Iterable[Work], path: Path, model: ModelDescription) -> Iterator[list[Numbered]]:
    """Work in groups that share chunks, each piece with its number; checked before it is taken."""
    most = (CPU_CHUNKS if path.on_cpu else GPU_CHUNKS) * path.shape.most
    enough = most if path.on_cpu else GPU_START * most
    some: list[Numbered] = []
    rows = 0
    for number, each in enumerate(work):
        check_work(each, model)
        more = len(each.rows) * (len(each.tokens) + 1) // 2  # half a prompt a cell, on average
        full = rows + more > enough or len(some) >= PROMPTS
        if some and (full or not path.mixes or not _mixes(some[0][1], each, path)):
            yield some
            some, rows, enough = [], 0, min(2 * enough, most)
        some.append((number, each))
        rows += more
    if some:
        yield some


def _mixes(first: Work, other: Work, path: Path) -> bool:
    """Whether the cells of two prompts may share a chunk without a bit depending on it."""
    if path.shape.is_fixed and len(first.tokens) != len(other.tokens):
        return False  # on a GPU, arithmetic depends on the prompt's length
    return _reads_last(first) and _reads_last(other)


def _reads_last(work: Work) -> bool:
    """Whether only the last position is read: reading several takes another way."""
    last = len(work.tokens) - 1
    return all([column.position in (-1, last) for column in work.readout.columns])


def side_by_side(
    prompts: Sequence[tuple[int, ...]], on_cpu: bool
) -> Iterator[list[tuple[int, ...]]]:
    """Unpatched prompts in groups that are run in one pass."""
    most = CPU_ROWS if on_cpu else GPU_ROWS
    some: list[tuple[int, ...]] = []
    for tokens in prompts:
        if some and sum(map(len, some)) + len(tokens) > most:
            yield some
            some = []
        some.append(tokens)
    if some:
        yield some
