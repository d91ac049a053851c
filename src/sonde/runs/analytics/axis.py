"""The time of a tile: columns whose width is a power of two, counted from 0 and not from the tile.

So a column is the same whichever tile shows it, and stays what it is while the run grows. Tokens of
a step are summed up in blocks of 16,384; finer columns are made from the records themselves, and
only of a stretch that is quickly read.
"""

from dataclasses import dataclass

from sonde.errors import BadRequest
from sonde.runs.analytics.parts import BLOCK_BITS
from sonde.schema.analytics import Unit

MOST_COLUMNS = 512
FINE_TOKENS = 2**17
"""A longer stretch is shown in blocks."""


@dataclass(frozen=True)
class Axis:
    """Columns of steps, or of the tokens of one step."""

    unit: Unit
    level: int
    first: int
    """The number of the first column: it begins at `first << level`."""
    columns: int
    step: int | None = None

    @property
    def width(self) -> int:
        """Steps or tokens a column."""
        return 1 << self.level

    @property
    def start(self) -> int:
        """Where the first column begins."""
        return self.first << self.level

    @property
    def end(self) -> int:
        """Where the last column ends."""
        return (self.first + self.columns) << self.level

    @property
    def fine(self) -> bool:
        """Whether its columns are finer than what is summed up."""
        return self.unit == "token" and self.level < BLOCK_BITS


def axis(
    unit: Unit,
    start: int,
    end: int,
    *,
    most: int = 256,
    level: int | None = None,
    step: int | None = None,
) -> Axis:
    """The columns that hold `start` to `end`: the finest of which there are at most so many."""
    if end <= start:
        raise BadRequest(f"from {start} to {end} is no stretch of time; `to` has to be greater")
    if not 1 <= most <= MOST_COLUMNS:
        raise BadRequest(f"columns {most} is not from 1 to {MOST_COLUMNS}")
    least = BLOCK_BITS if unit == "token" and end - start > FINE_TOKENS else 0
    if level is None:
        level = next(n for n in range(least, 64) if _columns(start, end, n) <= most)
    found = _columns(start, end, level)
    if level < least or found > MOST_COLUMNS:
        raise BadRequest(
            f"level {level} from {start} to {end} is {found:,} columns of {1 << level}; at most "
            f"{MOST_COLUMNS} can be shown, and stretches of more than {FINE_TOKENS:,} tokens from "
            f"level {BLOCK_BITS} on. Take a higher level or a shorter stretch"
        )
    return Axis(unit, level, start >> level, found, step)


def _columns(start: int, end: int, level: int) -> int:
    return ((end - 1) >> level) - (start >> level) + 1
