"""Waking those who wait for something new, without missing what comes while they look.

    told = news.told
    ...  # take what is there
    await news.after(told)

A subscriber that takes the number before looking cannot miss anything: told of something meanwhile,
it does not wait. Each waits for a future of its own, so one that is cancelled takes nobody along.
"""

import asyncio


class News:
    """Used on one event loop only."""

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
