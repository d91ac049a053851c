"""A backend whose completions never end by themselves, for tests of how they are ended."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from sonde.backends.base import GeneratedToken, GenerateRequest
from sonde.schema import ModelDescription
from tests.scripted import Scripted


@dataclass
class Endless(Scripted):
    """Says "The" for ever, or until it is told what to raise."""

    gate: threading.Event = field(default_factory=threading.Event)
    """Closed, nothing is generated."""
    raises: Exception | None = None
    after: int = 0
    """How many tokens come before it is raised."""
    made: int = 0
    closed: threading.Event = field(default_factory=threading.Event)

    def describe(self) -> ModelDescription:
        return super().describe().model_copy(update={"max_tokens": 10**6})

    def generate(self, request: GenerateRequest) -> Iterator[GeneratedToken]:
        try:
            self.gate.wait()
            for count in range(request.max_tokens):
                if self.raises is not None and count == self.after:
                    raise self.raises
                self.made += 1
                yield GeneratedToken(1, -1.0, {})
                time.sleep(0.001)
        finally:
            self.closed.set()


def opened(**fields: object) -> Endless:
    """One that begins at once."""
    made = Endless(**fields)  # type: ignore[arg-type]
    made.gate.set()
    return made
