"""One training run on the way to its directory: encoded, numbered and written behind the trainer.

The trainer's thread hands over what it read and goes on. One background thread encodes it, makes
the lines and writes them. When that thread is behind, completions are left out whole and counted.
At a save the trainer waits: what belongs to a checkpoint is on disk before the checkpoint is.

Only the process that writes has one.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from sonde.runs.background import Background
from sonde.runs.writer import RunWriter
from sonde.schema.records import RunInfo, RunMetadata, RunStatus, SidecarHealth
from sonde.training.alarms import Alarms
from sonde.training.encoding import Encoder, Recorded
from sonde.training.health import Counts, health_line, look
from sonde.training.lines import NonFinite
from sonde.training.pieces import Piece, Sample, evenly, thin
from sonde.training.steps import step_lines, step_metrics
from sonde.training.summary import StepSummary

CAPACITY: Final = 512 * 2**20
"""Bytes of activations that may wait to be encoded."""


@dataclass(eq=False)
class Session:
    """What lives from the first step to the last."""

    writer: RunWriter
    encoder: Encoder
    info: RunInfo
    spill_every: int = 1
    rewarded: bool = True
    """Whether there are rewards to sum up in `grpo_metrics.jsonl`."""
    capacity: int = CAPACITY
    listen: Callable[[StepSummary], None] = lambda _summary: None
    alarms: Alarms = field(default_factory=Alarms)
    non_finite: NonFinite = field(default_factory=NonFinite)

    def __post_init__(self) -> None:
        self._generations_dropped = 0
        self._records_dropped = 0
        self._cost: list[float] = []
        self._background = Background("sonde-sidecar", self.capacity)
        self.writer.describe(self.info)

    def hand_over(self, step: int, pieces: Sequence[Piece], seconds: float) -> None:
        """Give a step's pieces to the background, as many completions as there is room for."""
        kept, left_out = thin(pieces, self._background.room)
        n_layers = len(self.encoder.saes)
        before = sum(sum(piece.counts) for piece in pieces)
        lost = (before - sum(sum(piece.counts) for piece in kept)) * n_layers
        weight = sum(piece.weight for piece in kept)
        self._background.submit(
            lambda: self._finish(step, self.encoder.encode(kept), seconds, left_out, lost), weight
        )

    def hand_over_encoded(self, step: int, recorded: list[Recorded], seconds: float) -> None:
        """The same for what was encoded already, on several ranks."""
        weight, room = sum(done.weight for done in recorded), self._background.room
        chosen = evenly(len(recorded), min(1.0, room / weight) if weight else 1.0)
        kept = [
            done if place in chosen else replace(done, features={})
            for place, done in enumerate(recorded)
        ]
        lost = sum(done.records for done in recorded) - sum(done.records for done in kept)
        left_out = len(recorded) - len(chosen)
        self._background.submit(
            lambda: self._finish(step, kept, seconds, left_out, lost), min(weight, room)
        )

    def settle(self) -> None:
        """Wait until everything handed over is on disk."""
        self._background.drain()
        self.writer.sync()

    def checkpoint(self, step: int, metadata: RunMetadata) -> bool:
        """Close the records of a checkpoint. Whether that succeeded."""
        self._background.drain()
        return self.writer.checkpoint(step, metadata)

    def close(self, status: RunStatus, error: str | None = None) -> None:
        """Write what waits, say how the run ended, and let go."""
        try:
            self._background.close()
        finally:
            ended = {"status": status, "ended": time.time(), "error": error}
            self.info = self.info.model_copy(update=ended)
            try:
                self.writer.describe(self.info)
            finally:
                self.writer.close()

    @property
    def counts(self) -> Counts:
        """What was written and lost so far."""
        return Counts(
            records_written=self.writer.records.written,
            records_dropped=self._records_dropped + self.writer.records.dropped,
            generations_dropped=self._generations_dropped,
            fragments=self.writer.fragments,
        )

    def _finish(
        self, step: int, recorded: list[Recorded], seconds: float, left_out: int, lost: int
    ) -> None:
        """In the background: number, write, look, tell."""
        self._generations_dropped += left_out
        self._records_dropped += lost
        self._cost.append(seconds)
        lines = step_lines(self.info.run_id, step, recorded, self.non_finite)
        samples = [done.sample for done in recorded]
        metrics = step_metrics(step, samples)
        self.writer.add(
            records=lines.records,
            generations=lines.generations,
            metrics=metrics if self.rewarded else None,
        )
        due = step % self.spill_every == 0
        self.writer.spill(records=due)
        health, new = self._look(step, samples) if due else (None, [])
        self.listen(StepSummary(step, metrics, health, tuple(new)))

    def _look(self, step: int, samples: Sequence[Sample]) -> tuple[SidecarHealth, list[str]]:
        self.writer.health.spill()  # what could not be said before, if it can be now
        layers = look(self.encoder, self.counts, self.non_finite)
        new = self.alarms.look(samples, layers, self.writer.failures)
        milliseconds = 1000 * sum(self._cost) / len(self._cost)
        self._cost.clear()
        health = health_line(
            self.info.run_id, step, layers, self.counts, milliseconds, self.alarms.standing
        )
        self.writer.report(health)
        return health, new
