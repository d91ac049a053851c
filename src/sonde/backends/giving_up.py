"""Whether anybody still wants what is being computed: asked between layers.

A chunk of a long prompt takes seconds, and who stops a sweep should not wait for its end. So
the loops over layers call `check`, and the caller that runs the work says with `asking` what that
does: it raises `Unwanted`, or nothing. What is computed does not depend on it. A model that is
being loaded is wanted by all who wait for it, so loading asks nobody (`asking(nobody)`).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Unwanted(BaseException):
    """What is being computed is not wanted any more. Not an error of it, so no handler of errors
    may take it for one.
    """


def nobody() -> None:
    """Always wanted."""


_ask: ContextVar[Callable[[], None]] = ContextVar("ask", default=nobody)


def check() -> None:
    """Raise `Unwanted` if that is so."""
    _ask.get()()


@contextmanager
def asking(ask: Callable[[], None]) -> Iterator[None]:
    """Inside the block, `check` asks this; in this thread alone."""
    token = _ask.set(ask)
    try:
        yield
    finally:
        _ask.reset(token)
