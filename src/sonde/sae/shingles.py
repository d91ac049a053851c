"""The text of many snippets, written once.

Features are active in the same places, so the snippets of a dictionary repeat each token some
seven times. Here windows of tokens are laid over one another where the end of one is the beginning
of another, longest overlap first, and what comes out is one row of tokens that holds all of them.
It is not the text they were cut from: what lay between them is gone, and their order is another.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

Window = tuple[str, ...]


class Shingles(NamedTuple):
    """One row of tokens, and where in it each window begins."""

    row: list[str]
    starts: Mapping[Window, int]


def laid(windows: Iterable[Sequence[str]]) -> Shingles:
    """All windows in one row that is about as short as it can be: greedily, so not the shortest."""
    unique = list(dict.fromkeys(tuple(window) for window in windows))
    following, overlap = _linked(unique)
    row: list[str] = []
    starts: dict[Window, int] = {}
    heads = set(range(len(unique))) - set(following.values())
    for head in sorted(heads):
        at: int | None = head
        while at is not None:
            shared = overlap.get(at, 0)
            starts[unique[at]] = len(row) - shared
            row.extend(unique[at][shared:])
            at = following.get(at)
    return Shingles(row, starts)


def _linked(windows: list[Window]) -> tuple[dict[int, int], dict[int, int]]:
    """Which window follows which, and how many of its tokens the one before has already."""
    following: dict[int, int] = {}
    overlap: dict[int, int] = {}
    chain = list(range(len(windows)))  # the last of the chain a window is in, found over hops

    def last(at: int) -> int:
        while chain[at] != at:
            chain[at] = chain[chain[at]]
            at = chain[at]
        return at

    for shared in range(max(map(len, windows), default=1) - 1, 0, -1):
        beginning: dict[Window, list[int]] = {}
        for at, window in enumerate(windows):
            if at not in overlap and len(window) > shared:
                beginning.setdefault(window[:shared], []).append(at)
        for at, window in enumerate(windows):
            if at in following or len(window) <= shared:
                continue
            for other in beginning.get(window[-shared:], ()):
                if other not in overlap and last(at) != last(other):
                    following[at], overlap[other] = other, shared
                    chain[last(at)] = last(other)
                    break
    return following, overlap
