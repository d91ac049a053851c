"""A scripted backend that can be held at a point of its work, so that tests need no clock."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.scripted import Scripted
from tests.server.contract.asking import PATIENCE


@dataclass
class Gate:
    """Holds threads that come to one point, until it is opened."""

    at: str | int
    passed: list[str | int] = field(default_factory=list)
    reached: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)

    def __call__(self, point: str | int) -> None:
        self.passed.append(point)
        if point == self.at:
            self.reached.set()
            assert self.opened.wait(PATIENCE), "the test never opened its gate"

    def wait(self) -> None:
        """Until somebody is held."""
        assert self.reached.wait(PATIENCE), f"nobody came to {self.at!r}"

    def open(self) -> None:
        """Let everybody through from now on."""
        self.opened.set()


@dataclass
class Gated(Scripted):
    """The scripted backend; `at_method` hears of every call on it."""

    at_method: Callable[[str], None] = lambda _method: None

    def _note(self, method: str) -> None:
        super()._note(method)
        self.at_method(method.partition(" ")[0])
