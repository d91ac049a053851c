"""One training run on the way to its directory: encoded, numbered and written behind the trainer.

The trainer's thread hands over what it read and goes on. One background thread encodes it, makes
the lines and writes them. When that thread is behind, completions are left out whole and counted.
At a save the trainer waits: what belongs to a checkpoint is on disk before the checkpoint is.

Only the process that writes has one.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sonde.runs.background import Background
from sonde.runs.totals import Totals
from sonde.runs.writer import RunWriter
from sonde.schema.records import RunInfo, RunMetadata, RunStatus, SidecarHealth, Telemetry
from sonde.training.alarms import Alarms
from sonde.training.encoding import Encoder, Recorded
from sonde.training.health import Counts, health_line, in_words, look
from sonde.training.lines import NonFinite
from sonde.training.pieces import PassSlice, Sample, evenly, thin
from sonde.training.steps import Names, step_lines, step_metrics
from sonde.training.summary import StepSummary
from sonde.training.telemetry import Meter, Moments

CAPACITY: Final = 512 * 2**20
"""Bytes of activations that may wait to be encoded."""


@dataclass(frozen=True)
class Ended:
    """How a run's files were left."""

    counts: Counts
    """Of the run."""
    lost: str | None
    """What this trainer could not write, in words; None where all of it is there."""
    why: str


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
    before: Totals = field(default_factory=Totals)
    """What the run had written and lost when it was resumed."""
    alarms: Alarms = field(default_factory=Alarms)
    names: Names = field(default_factory=Names)
    non_finite: NonFinite = field(default_factory=NonFinite)

    def __post_init__(self) -> None:
        self._generations_dropped = 0
        self._records_dropped = 0
        self._cost: list[float] = []
        self._step = 0
        self._unreported: tuple[int, list[Sample]] | None = None
        for layer, counts in self.before.non_finite.items():
            for name, count in counts.items():
                self.non_finite.add(layer, name, count)
        self._meter = Meter(self.info.run_id, self.info.max_steps, time.perf_counter())
        self._background = Background("sonde-sidecar", self.capacity)
        self.writer.describe(self.info)

    def hand_over(self, step: int, pieces: Sequence[PassSlice], seconds: float) -> None:
        """Give a step's pieces to the background, as many completions as there is room for."""
        kept, left_out = thin(pieces, self._background.room)
        n_layers = len(self.encoder.saes)
        before = sum(sum(piece.counts) for piece in pieces)
        lost = (before - sum(sum(piece.counts) for piece in kept)) * n_layers
        weight = sum(piece.weight for piece in kept)
        at = _now()
        self._background.submit(
            lambda: self._finish(step, self.encoder.encode(kept), seconds, left_out, lost, at),
            weight,
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
        left_out, at = len(recorded) - len(chosen), _now()
        self._background.submit(
            lambda: self._finish(step, kept, seconds, left_out, lost, at), min(weight, room)
        )

    def logged(self, step: int, numbers: Mapping[str, Any]) -> None:
        """What the trainer logs of a step that was handed over."""
        numbers = dict(numbers)
        self._background.submit(lambda: self._tell(self._meter.logged(step, numbers)), 0)

    def settle(self) -> bool:
        """Wait until everything handed over is on disk. Whether it is; else the disk is full."""
        self._background.drain()
        written = self.writer.spill()
        self._report_rest()
        return self.writer.sync() and written

    def checkpoint(self, step: int, metadata: RunMetadata) -> bool:
        """Close the records of a checkpoint. Whether that is done, or waits for the disk."""
        self._background.drain()
        return self.writer.checkpoint(step, metadata)

    def close(self, status: RunStatus, error: str | None = None) -> "Ended":
        """Write what waits, say how the run ended, and let go.

        A full disk does not fail a training that is over: the caller has to say what was lost.
        """
        try:
            self._background.close()
        finally:
            ended = self._give_up()
            loss = f"the disk did not take {ended.lost}" if ended.lost else None
            said = {"status": status, "ended": time.time(), "error": error or loss}
            self.info = self.info.model_copy(update=said)
            with suppress(OSError):  # a disk that is still full: `ended` says so
                self.writer.describe(self.info)
            self.writer.close()
        return ended

    def _give_up(self) -> "Ended":
        """Write what can be written, and count the rest."""
        writer = self.writer
        writer.spill()
        self._report_rest()
        self._tell(self._meter.rest())
        reasons, saves = writer.failures, writer.waiting_saves
        writer.give_up()
        beside = (writer.generations, writer.metrics, writer.health, writer.telemetry)
        here = sum(spool.dropped for spool in beside)
        lost = in_words(writer.records.dropped, here, [] if not reasons else saves)
        if lost:
            self._look(self._step, [])
        return Ended(self.counts, lost, reasons[0] if reasons else "the disk was full for a while")

    @property
    def counts(self) -> Counts:
        """What of the run was written and lost so far."""
        writer, before = self.writer, self.before
        lost = writer.records.dropped
        beside = (writer.generations, writer.metrics, writer.health, writer.telemetry)
        return Counts(
            records_written=before.records_written + writer.records.written,
            records_dropped=before.records_dropped + self._records_dropped + lost,
            generations_dropped=before.generations_dropped + self._generations_dropped,
            fragments=before.fragments + writer.fragments,
            records_lost=before.records_lost + lost,
            lines_lost=before.lines_lost + sum(spool.dropped for spool in beside),
        )

    def _finish(
        self,
        step: int,
        recorded: list[Recorded],
        seconds: float,
        left_out: int,
        lost: int,
        at: Moments,
    ) -> None:
        """In the background: number, write, look, tell."""
        self._generations_dropped += left_out
        self._records_dropped += lost
        self._cost.append(seconds)
        named = self.names.of(step, recorded)
        lines = step_lines(self.info.run_id, step, named, self.non_finite)
        metrics = step_metrics(step, [each.done.sample for each in named])
        fresh = [each.done.sample for each in named if each.pass_number == 1]
        self.writer.add(
            records=lines.records,
            generations=lines.generations,
            metrics=metrics if self.rewarded else None,
        )
        due = step % self.spill_every == 0
        self.writer.spill(records=due)
        self._tell(self._meter.done(step, at, fresh))
        self._step, self._unreported = step, (step, fresh)
        health, new = self._look(step, fresh) if due else (None, [])
        self.listen(StepSummary(step, metrics, health, tuple(new)))

    def _tell(self, line: Telemetry | None) -> None:
        """A line of telemetry, where there is one."""
        if line is not None:
            self.writer.tell(line)

    def _look(self, step: int, samples: Sequence[Sample]) -> tuple[SidecarHealth, list[str]]:
        self._unreported = None
        self.writer.health.spill()  # what could not be said before, if it can be now
        layers = look(self.encoder, self.counts, self.non_finite)
        lost, failures = self.counts.lost, self.writer.failures
        new = self.alarms.look(samples, layers, failures, lost)
        milliseconds = 1000 * sum(self._cost) / len(self._cost) if self._cost else None
        self._cost.clear()
        health = health_line(
            self.info.run_id, step, layers, self.counts, milliseconds, self.alarms.standing
        )
        self.writer.report(health)
        return health, new

    def _report_rest(self) -> None:
        """A line about steps since the last one, so that a resume knows what they lost."""
        if self._unreported is not None:
            self._look(*self._unreported)


def _now() -> Moments:
    return Moments(time.time(), time.perf_counter())
