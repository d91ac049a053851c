"""The lines of a run that were withheld: counted once each, however often they are read."""

from dataclasses import dataclass

from sonde.runs.files import LineFile
from sonde.runs.lines import BadLine, Fault

KEPT = 20
"""How many are remembered by their place; the rest are only counted."""


@dataclass(frozen=True)
class WithheldLine:
    """Which file, where in it, and why."""

    file: str
    offset: int
    fault: Fault


class Withheld:
    """What was withheld since the gateway began to read this run."""

    def __init__(self) -> None:
        self.count = 0
        self.first: list[WithheldLine] = []
        self._counted: dict[tuple[object, ...], int] = {}

    def note(self, file: LineFile, bad: list[BadLine], end: int) -> None:
        """Take note of the bad lines of a block that was read up to byte `end`."""
        which = (file.identity, file.fingerprint, file.epoch)
        counted = self._counted.get(which, 0)
        if end <= counted:
            return
        self._counted[which] = end
        fresh = [line for line in bad if line.offset >= counted]
        self.count += len(fresh)
        for line in fresh[: max(0, KEPT - len(self.first))]:
            self.first.append(WithheldLine(file.path.name, line.offset, line.fault))
