"""Writes sweeps down as they begin, go on and end, for the history and for going on later."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sonde.errors import SondeError
from sonde.schema import Provenance, SweepState
from sonde.store.sweeps import SweepStore

if TYPE_CHECKING:
    from sonde.server.sweeps import RunningSweep

log = logging.getLogger(__name__)


def said(error: BaseException) -> str:
    """What a client is told: our own words, but not those of a bug."""
    if isinstance(error, SondeError):
        return str(error)
    return f"internal error ({type(error).__name__}); the server's log has the details"


@dataclass(frozen=True)
class Book:
    """Writes sweeps down. A history that cannot be written costs no one their result."""

    store: SweepStore
    over: Callable[[RunningSweep, SweepState], None]

    def described(self, sweep: str, provenance: Provenance) -> None:
        """Its model has been loaded."""
        try:
            self.store.described(sweep, provenance)
        except SondeError as error:
            log.error("sweep %s could not be written down: %s", sweep, error)

    def running(self, sweep: str, cells: int) -> None:
        """It has begun."""
        try:
            self.store.running(sweep, cells)
        except SondeError as error:
            log.error("sweep %s could not be written down: %s", sweep, error)

    def pair(self, sweep: str, pair: int, event: bytes) -> None:
        """One of many pairs is done: it need not be run again after a restart."""
        try:
            self.store.keep_pair(sweep, pair, event)
        except SondeError as error:
            log.error("pair %s of sweep %s could not be written down: %s", pair, sweep, error)

    def end(self, sweep: RunningSweep, state: SweepState, events: list[bytes]) -> None:
        """It has ended."""
        error = sweep.error
        if error is not None and not isinstance(error, SondeError):
            log.error("sweep %s failed", sweep.id, exc_info=error)
        try:
            self.store.end(
                sweep.id,
                state=state,
                ended=datetime.now(UTC),
                cells=sweep.cells,
                done=sweep.done,
                error=None if error is None else said(error),
                summary=sweep.summary,
                events=events,
            )
        except SondeError as trouble:
            log.error("sweep %s could not be written down: %s", sweep.id, trouble)
        self.over(sweep, state)
