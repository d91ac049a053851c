"""Turns for those who catch up: one block for one of them, then everybody else.

A listener that is far behind always has something to do. A hundred of them would each take a block
in one round of the event loop, and a subscriber at the head would wait for all of that. In a line,
they share what one of them alone would take, and the head waits for one block at most.

Not a limit on how fast one may catch up: alone in the line, its turn comes at once.
"""

import asyncio
from collections import deque


class Turns:
    """A line. Used on one event loop only."""

    def __init__(self) -> None:
        self._line: deque[asyncio.Future[None]] = deque()
        self._called = False

    async def next(self) -> None:
        """Wait at the end of the line, for one round of the event loop at least."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._line.append(turn)
        if not self._called:
            self._called = True
            loop.call_soon(self._call)
        await turn

    def _call(self) -> None:
        """Let the first of those who still wait go on, and see to the others one round later."""
        while self._line:
            turn = self._line.popleft()
            if not turn.done():
                turn.set_result(None)
                break
        self._called = bool(self._line)
        if self._called:
            asyncio.get_running_loop().call_soon(self._call)
