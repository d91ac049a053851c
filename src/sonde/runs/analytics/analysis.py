"""Everything that is known of one run: its records summed up, and the small files beside them.

    analysis = RunAnalysis(connect(), layout)
    known = analysis.advance()
    layer_tile(known, cursor, ...)

`advance` reads what is new; one thread at a time may call it. What it returns is never changed, so
any thread may ask it questions, each with a cursor of its own.
"""

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sonde.runs.analytics.cache import Caches
from sonde.runs.analytics.companions import Companion
from sonde.runs.analytics.generations import GenerationFile, Generations
from sonde.runs.analytics.ingest import FOREVER, Ingest, Ingested
from sonde.runs.analytics.losses import all_losses
from sonde.runs.analytics.parts import Part
from sonde.runs.analytics.steplines import HealthLine, MetricsLine, TelemetryLine
from sonde.runs.files import identity_of
from sonde.runs.layout import RunLayout
from sonde.schema.analytics import Coverage

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


Answer = TypeVar("Answer")


@dataclass(frozen=True)
class RunContents:
    """What was read of a run."""

    ingested: Ingested = field(default_factory=Ingested)
    generations: Generations = field(default_factory=Generations)
    metrics: tuple[MetricsLine, ...] = ()
    health: tuple[HealthLine, ...] = ()
    missing: tuple[str, ...] = ()
    """Names of companions that are not there."""
    withheld_beside: int = 0
    """Lines of companions that are not valid, or not what belongs there."""
    telemetry: tuple[TelemetryLine, ...] = ()
    _worked_out: dict[Hashable, Any] = field(default_factory=dict, init=False)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The records, summed up."""
        return tuple(losses.part for losses in self.ingested.parts)

    def losses(self, cursor: "DuckDBPyConnection") -> NDArray[Any]:
        """The same by generation and layer, as rows of `LOSS`. Worked out when first asked for."""
        rows: NDArray[Any] = self.once(
            "losses", lambda: all_losses(self.ingested.parts, cursor, self.generations)
        )
        return rows

    def once(self, question: Hashable, answer: Callable[[], Answer]) -> Answer:
        """The answer to a question that takes long: worked out when it is first asked."""
        if question not in self._worked_out:
            self._worked_out[question] = answer()
        found: Answer = self._worked_out[question]
        return found

    @property
    def cache(self) -> Path | None:
        """Where compacted records are."""
        return self.ingested.cache

    @cached_property
    def coverage(self) -> Coverage:
        """How much of the run that is."""
        return Coverage(
            complete=self.ingested.complete,
            bytes_read=self.ingested.bytes_read,
            bytes_total=self.ingested.bytes_total,
            records=sum(part.records for part in self.parts),
            withheld=self.ingested.withheld + self.withheld_beside,
        )

    @cached_property
    def layers(self) -> list[int]:
        """The layers that have records."""
        found = [np.unique(part.layers["layer"]) for part in self.parts]
        return [int(layer) for layer in np.unique(np.concatenate(found))] if found else []

    def steps(self) -> tuple[int, int] | None:
        """The first and the last step there are records of."""
        if not self.parts:
            return None
        first = min(part.first_step for part in self.parts)
        return first, max(part.last_step for part in self.parts)


class RunAnalysis:
    """One run, read on from time to time."""

    def __init__(
        self,
        connection: "DuckDBPyConnection",
        layout: RunLayout,
        caches: Caches | None = None,
        **sizes: int,
    ) -> None:
        self.layout = layout
        self.known = RunContents()
        self._ingest = Ingest(connection, layout, caches, **sizes)
        self._generations = GenerationFile(layout.generations)
        self._metrics = Companion(layout.metrics, MetricsLine)
        self._health = Companion(layout.health, HealthLine)
        self._telemetry = Companion(layout.telemetry, TelemetryLine)

    def advance(
        self, seconds: float = FOREVER, clock: Callable[[], float] = time.monotonic
    ) -> RunContents:
        """Read what is new, for about so long.

        Generations are read after records: a record is never in the files before its generation.
        """
        ingested = self._ingest.advance(seconds, clock)
        generations = self._generations.advance()
        metrics, health = self.known.metrics, self.known.health
        void, new_metrics = self._metrics.advance()
        metrics = (*(() if void else metrics), *(line.value for line in new_metrics))
        void, new_health = self._health.advance()
        health = (*(() if void else health), *(line.value for line in new_health))
        void, new_telemetry = self._telemetry.advance()
        telemetry = () if void else self.known.telemetry
        telemetry = (*telemetry, *(line.value for line in new_telemetry))
        companions = (self.layout.run_info, self.layout.generations, self.layout.metrics)
        named = (path for path in (*companions, self.layout.health) if identity_of(path) is None)
        missing = tuple(path.name for path in named)
        beside = (self._generations, self._metrics, self._health, self._telemetry)
        withheld = sum(companion.withheld for companion in beside)
        known = RunContents(ingested, generations, metrics, health, missing, withheld, telemetry)
        if not _same(known, self.known):  # else what was worked out of it stays
            self.known = known
        return self.known

    def yield_often(self, seconds: float) -> None:
        """Let other threads of this process have their turn after each block that is checked."""
        self._ingest.pause = seconds

    def stop(self) -> None:
        """End `advance` soon, from another thread."""
        self._ingest.stop = True

    def close(self) -> None:
        """Let go of tables and of what was kept for this process only."""
        self._ingest.close()


def _same(one: RunContents, other: RunContents) -> bool:
    """Whether nothing was read in between. What was read already is never made anew."""
    a, b = one.ingested, other.ingested
    return (
        len(a.parts) == len(b.parts)
        and all(part is before for part, before in zip(a.parts, b.parts, strict=True))
        and one.generations is other.generations
        and (a.bytes_read, a.bytes_total, a.withheld) == (b.bytes_read, b.bytes_total, b.withheld)
        and (len(one.metrics), len(one.health)) == (len(other.metrics), len(other.health))
        and len(one.telemetry) == len(other.telemetry)
        and one.telemetry[-1:] == other.telemetry[-1:]
        and one.metrics[-1:] == other.metrics[-1:]
        and one.health[-1:] == other.health[-1:]
        and (one.missing, one.withheld_beside) == (other.missing, other.withheld_beside)
    )
