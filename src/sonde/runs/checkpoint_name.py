"""`RUN@checkpoint-N`: what a checkpoint of a run is called, in requests and on the command line.

In process and on the command line RUN may be a run's directory, as in
`sonde.load("out/one@checkpoint-20")`. A server takes names of the runs that it lists, and
directories below its roots.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from sonde.errors import UnknownModel
from sonde.runs.layout import RunLayout
from sonde.runs.listing import checkpoints

_FORM = re.compile(r"(.+)@checkpoint-(0|[1-9][0-9]{0,17})", re.DOTALL)

SHOWN = 12
"""Steps that a refusal lists."""


@dataclass(frozen=True)
class CheckpointName:
    """A run, by name or directory, and the step after which it was saved."""

    run: str
    step: int

    def __str__(self) -> str:
        return f"{self.run}@checkpoint-{self.step}"

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """None where a name has another form."""
        found = _FORM.fullmatch(name)
        return None if found is None else cls(found[1], int(found[2]))

    def within(self, layout: RunLayout) -> Path:
        """The directory of the checkpoint, in the run that was found for the name."""
        steps = checkpoints(layout)
        if self.step not in steps:
            there = ", ".join(map(str, steps[-SHOWN:])) + (
                " (the last ones)" * (len(steps) > SHOWN)
            )
            raise UnknownModel(
                f"the run {self.run[:200]!r} has no checkpoint-{self.step}; it has "
                f"{f'checkpoints of steps {there}' if steps else 'none'}"
            )
        return layout.checkpoint(self.step)
