"""Batches of pairs handed to several workers, any of which may die.

A worker that dies has its batch computed by another, and is replaced. Both are bounded: pairs that
kill their worker, and a machine on which nothing lives, end in an error that says where.
Which worker computes which pairs changes no bit, so nothing has to be in order.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from sonde.engine.pairs import PairEvent
from sonde.errors import EngineError, WorkersLost
from sonde.study.worker import Begun

TRIES = 3
"""How often a batch is handed out, and how many deaths in a row a worker's place may have."""


@dataclass(frozen=True)
class Ready:
    """A worker has loaded its model."""

    worker: int
    begun: Begun


@dataclass(frozen=True)
class Finished:
    """A worker has computed its batch."""

    worker: int
    events: Sequence[PairEvent]


@dataclass(frozen=True)
class Lost:
    """A worker has died, whatever it was doing."""

    worker: int
    name: str
    """With its process and machine, where they are known."""
    why: str


class Hands(Protocol):
    """Workers that can be given pairs, and heard."""

    def start(self, worker: int) -> None:
        """Let a worker load, in the place of that number; `hear` tells when it is ready."""
        ...

    def give(self, worker: int, numbers: Sequence[int]) -> None:
        """Hand a batch to a worker that has none."""
        ...

    def hear(self) -> Ready | Finished | Lost:
        """Wait for the next that happens."""
        ...


class HandingOut:
    """Workers by the number of their place, and what each of them is doing."""

    def __init__(self, hands: Hands, workers: int) -> None:
        self._hands = hands
        self._idle: deque[int] = deque()
        self._busy: dict[int, tuple[int, ...]] = {}
        self._deaths = dict.fromkeys(range(workers), 0)
        self.begun: list[Begun] = []
        """Of every worker that ever was ready."""
        self.lost: list[str] = []
        """Those that died."""
        for worker in range(workers):
            hands.start(worker)

    def first(self) -> Begun:
        """Wait until one worker is ready."""
        while not self.begun:
            self._hear(deque(), {})
        return self.begun[0]

    def run(self, batches: Sequence[Sequence[int]]) -> Iterator[PairEvent]:
        """Compute all batches; pairs come as their batch is finished."""
        waiting = deque(tuple(batch) for batch in batches)
        tries: dict[tuple[int, ...], int] = {}
        while waiting or self._busy:
            while waiting and self._idle:
                worker, batch = self._idle.popleft(), waiting.popleft()
                self._busy[worker] = batch
                self._hands.give(worker, batch)
            yield from self._hear(waiting, tries)

    def _hear(
        self, waiting: deque[tuple[int, ...]], tries: dict[tuple[int, ...], int]
    ) -> Sequence[PairEvent]:
        heard = self._hands.hear()
        if isinstance(heard, Ready):
            self._check_weights(heard.begun)
            self.begun.append(heard.begun)
            self._idle.append(heard.worker)
            return ()
        batch = self._busy.pop(heard.worker, None)
        if isinstance(heard, Finished):
            self._deaths[heard.worker] = 0
            self._idle.append(heard.worker)
            return heard.events
        self._bury(heard, batch)
        if batch is not None:
            tries[batch] = tries.get(batch, 0) + 1
            if tries[batch] >= TRIES:
                pairs = f"pairs {batch[0]} to {batch[-1]}" if len(batch) > 1 else f"pair {batch[0]}"
                raise WorkersLost(
                    f"{pairs} were given to {TRIES} workers, and each of them died; the last was "
                    f"{heard.name}: {heard.why}"
                )
            waiting.appendleft(batch)
        self._hands.start(heard.worker)
        return ()

    def _check_weights(self, begun: Begun) -> None:
        first = self.begun[0] if self.begun else begun
        if begun.model.weights != first.model.weights:
            raise EngineError(
                f"workers loaded different weights, {first.model.weights} and "
                f"{begun.model.weights}: put the same files where {first.model.name} leads to"
            )

    @property
    def idle(self) -> list[int]:
        """Workers that are ready and have nothing to do."""
        return list(self._idle)

    def _bury(self, heard: Lost, batch: tuple[int, ...] | None) -> None:
        self.lost.append(heard.name)
        if heard.worker in self._idle:
            self._idle.remove(heard.worker)
        self._deaths[heard.worker] += 1
        if self._deaths[heard.worker] >= TRIES:
            doing = "while it loaded" if batch is None else "while it computed"
            raise WorkersLost(
                f"{heard.name} died {doing}, as {TRIES - 1} in its place before it: {heard.why}"
            )
