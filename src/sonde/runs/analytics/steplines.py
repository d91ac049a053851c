"""What is read of the lines that a trainer writes every step: metrics and health.

Not the types of `schema.records`: those say what a writer must write. These take what is there, so
that a line with a field less is still a point of the others.
"""

import msgspec


class MetricsLine(msgspec.Struct, frozen=True):
    """One optimizer step in numbers."""

    iteration: int
    rewards_mean: float | None = None
    rewards_std: float | None = None
    rewards_min: float | None = None
    rewards_max: float | None = None
    advantage_mean: float | None = None
    advantage_std: float | None = None
    r_a_pass_rate: float | None = None
    n_invalid_compositions: float | None = None


class LayerHealthLine(msgspec.Struct, frozen=True):
    """How well one layer's dictionary fits."""

    layer_index: int
    fvu: float | None = None
    cosine: float | None = None
    l0: float | None = None
    dead_share: float | None = None
    input_norm: float | None = None


class HealthLine(msgspec.Struct, frozen=True):
    """How recording goes."""

    step: int
    layers: tuple[LayerHealthLine, ...] = ()
    records_written: float | None = None
    records_dropped: float | None = None
    sidecar_ms: float | None = None
    alarms: tuple[str, ...] = ()


class TelemetryLine(msgspec.Struct, frozen=True):
    """How training itself goes, and how fast."""

    step: int
    kl: float | None = None
    policy_loss: float | None = None
    entropy: float | None = None
    grad_norm: float | None = None
    learning_rate: float | None = None
    completion_length: float | None = None
    truncated_share: float | None = None
    tokens_per_second: float | None = None
    step_seconds: float | None = None
    seconds_left: float | None = None
