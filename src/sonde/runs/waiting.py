"""How listeners wait: at the head of a run for news, further back for their turn.

Both are used on one event loop only.
"""

import asyncio
from collections import deque


class News:
    """Wakes those who wait for something new, without missing what comes while they look.

        told = news.told
        ...  # take what is there
        await news.after(told)

    A subscriber that takes the number before looking cannot miss anything: told of something
    meanwhile, it does not wait. Each waits for a future of its own, so one that is cancelled takes
    nobody along.
    """

    def __init__(self) -> None:
        self.told = 0
        """How often there was something to tell."""
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def tell(self) -> None:
        """Wake everyone who waits."""
        self.told += 1
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)

    async def after(self, told: int) -> None:
        """Wait until something is told that is not counted in `told`; others have a turn anyhow."""
        if self.told != told:
            await asyncio.sleep(0)
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine in self._waiting:
                self._waiting.remove(mine)
            raise


class Turns:
    """A line of those who catch up: one block for one of them, then everybody else.

    A listener that is far behind always has something to do. A hundred of them would each take a
    block in one round of the event loop, and a subscriber at the head would wait for all of that.
    In a line, they share what one of them alone would take, and the head waits for one block at
    most. It is no limit on how fast one may catch up: alone in the line, its turn comes at once.
    """

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
