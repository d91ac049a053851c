"""Blocks of lines as listeners get them, made once and kept for a while.

The first subscriber to need a block makes it; all others at the same place take the same bytes.
Memory is bounded by `limit`, whatever the number of listeners: one that is behind what is kept
reads from disk.
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

Octets = bytes | bytearray
"""Either, and nobody changes them any more."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Lines of a file, ready to send."""

    end: int
    """Where in the file the next line begins."""
    count: int
    """How many lines are in it; bad ones, and ones that were not asked for, are not."""
    data: Octets
    check: str = ""
    """Of the place it ends at."""


class BlockCache:
    """The blocks that were made last, up to so many bytes."""

    def __init__(self, limit: int = 16 * 2**20) -> None:
        self.limit = limit
        self.bytes = 0
        self._blocks: OrderedDict[Hashable, Encoded] = OrderedDict()

    def get(self, key: Hashable) -> Encoded | None:
        """A block, if it is still there."""
        return self._blocks.get(key)

    def put(self, key: Hashable, block: Encoded) -> None:
        """Keep a block; the oldest make room."""
        if key in self._blocks or len(block.data) > self.limit // 4:
            return
        self._blocks[key] = block
        self.bytes += len(block.data) + OVERHEAD
        while self.bytes > self.limit:
            _, oldest = self._blocks.popitem(last=False)
            self.bytes -= len(oldest.data) + OVERHEAD


OVERHEAD = 512
"""What an entry takes beside its data."""
