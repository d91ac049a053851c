"""The health line of a spill: what was recorded, what was lost, and how well dictionaries fit."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from sonde.schema.records import LayerHealth, SidecarHealth
from sonde.training.encoding import Encoder
from sonde.training.lines import NonFinite
from sonde.training.steps import finite


@dataclass(frozen=True)
class Counts:
    """How much of a run was written and lost so far."""

    records_written: int
    records_dropped: int
    """Left out for whatever reason."""
    generations_dropped: int
    fragments: int
    records_lost: int = 0
    """Of those that were dropped, the ones the disk did not take."""
    lines_lost: int = 0
    """Lines of generations, metrics and health that the disk did not take."""

    @property
    def lost(self) -> str | None:
        """What the disk did not take, in words; None where it took everything."""
        return in_words(self.records_lost, self.lines_lost)


def in_words(records: int, lines: int, saves: Sequence[int] = ()) -> str | None:
    """Records, other lines and the metadata of checkpoints; None where there are none of them."""
    counted = {"records": records, "other lines": lines}
    found = [f"{number:,} {name}" for name, number in counted.items() if number]
    found += [f"the metadata of checkpoint-{step}" for step in saves]
    return " and ".join(found) or None


def look(encoder: Encoder, counts: Counts, non_finite: NonFinite) -> list[LayerHealth]:
    """Every layer since the last look. All layers record the same tokens, so they share counts."""
    n_layers = max(len(encoder.saes), 1)
    found = []
    for layer, meter in sorted(encoder.meters.items()):
        health = meter.look()
        found.append(
            LayerHealth(
                layer_index=layer,
                tokens=health.tokens,
                fvu=finite(health.fvu),
                cosine=finite(health.cosine),
                l0=finite(health.l0),
                dead_share=finite(meter.dead_share),
                input_norm=finite(health.input_norm),
                records_written=counts.records_written // n_layers,
                records_dropped=counts.records_dropped // n_layers,
                non_finite=non_finite.of(layer),
            )
        )
    return found


def health_line(
    run_id: str,
    step: int,
    layers: Sequence[LayerHealth],
    counts: Counts,
    sidecar_ms: float | None,
    alarms: Sequence[str],
) -> SidecarHealth:
    """One line of `sae_health.jsonl`."""
    return SidecarHealth(
        run_id=run_id,
        step=step,
        time=time.time(),
        layers=list(layers),
        records_written=counts.records_written,
        records_dropped=counts.records_dropped,
        records_lost=counts.records_lost,
        generations_dropped=counts.generations_dropped,
        lines_lost=counts.lines_lost,
        fragments=counts.fragments,
        sidecar_ms=finite(sidecar_ms),
        alarms=list(alarms),
    )
