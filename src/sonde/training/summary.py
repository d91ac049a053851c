"""What a listener hears of a training step, once it is written. Types only, no torch."""

from dataclasses import dataclass

from sonde.schema.records import GRPOMetrics, SidecarHealth


@dataclass(frozen=True)
class StepSummary:
    """One optimizer step."""

    step: int
    metrics: GRPOMetrics
    health: SidecarHealth | None
    """None where this step was not spilled."""
    new_alarms: tuple[str, ...] = ()
    """Warnings that begin with this step."""
