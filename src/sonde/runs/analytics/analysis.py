"""Everything that is known of one run: its records summed up, and the small files beside them.

    analysis = RunAnalysis(connect(), layout)
    known = analysis.advance()
    layer_tile(known, cursor, ...)

`advance` reads what is new; one thread at a time may call it. What it returns is never changed, so
any thread may ask it questions, each with a cursor of its own.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sonde.runs.analytics.cache import Caches
from sonde.runs.analytics.companions import Companion
from sonde.runs.analytics.generations import GenerationFile, Generations
from sonde.runs.analytics.ingest import FOREVER, Ingest, Ingested
from sonde.runs.analytics.losses import all_losses
from sonde.runs.analytics.parts import Part
from sonde.runs.analytics.steplines import HealthLine, MetricsLine
from sonde.runs.files import identity_of
from sonde.runs.layout import RunLayout
from sonde.schema.analytics import Coverage

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True)
class Known:
    """What was read of a run."""

    ingested: Ingested = field(default_factory=Ingested)
    generations: Generations = field(default_factory=Generations)
    metrics: tuple[MetricsLine, ...] = ()
    health: tuple[HealthLine, ...] = ()
    missing: tuple[str, ...] = ()
    """Names of companions that are not there."""
    withheld_beside: int = 0
    """Lines of companions that are not valid, or not what belongs there."""
    _worked_out: dict[str, NDArray[Any]] = field(default_factory=dict, init=False)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The records, summed up."""
        return tuple(losses.part for losses in self.ingested.parts)

    def losses(self, cursor: "DuckDBPyConnection") -> NDArray[Any]:
        """The same by generation and layer, as rows of `LOSS`. Worked out when first asked for."""
        if "rows" not in self._worked_out:
            rows = all_losses(self.ingested.parts, cursor, self.generations)
            self._worked_out["rows"] = rows
        return self._worked_out["rows"]

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
        self.known = Known()
        self._ingest = Ingest(connection, layout, caches, **sizes)
        self._generations = GenerationFile(layout.generations)
        self._metrics = Companion(layout.metrics, MetricsLine)
        self._health = Companion(layout.health, HealthLine)

    def advance(
        self, seconds: float = FOREVER, clock: Callable[[], float] = time.monotonic
    ) -> Known:
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
        companions = (self.layout.run_info, self.layout.generations, self.layout.metrics)
        named = (path for path in (*companions, self.layout.health) if identity_of(path) is None)
        missing = tuple(path.name for path in named)
        beside = (self._generations, self._metrics, self._health)
        withheld = sum(companion.withheld for companion in beside)
        self.known = Known(ingested, generations, metrics, health, missing, withheld)
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
