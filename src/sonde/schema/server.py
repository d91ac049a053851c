"""What a server says of itself."""

from typing import Literal

from pydantic import Field

from sonde.schema.base import Wire
from sonde.schema.history import ExportFormat
from sonde.schema.model import ModelDescription
from sonde.schema.prompt import Pairing
from sonde.schema.sweep import Metric


class Health(Wire):
    """The process is alive. It says nothing about the model."""

    status: Literal["ok"] = "ok"


class Readiness(Wire):
    """Whether work that is sent now will be done."""

    ready: bool
    reason: str | None
    """Why not; None when it is."""


class ServerLimits(Wire):
    """The largest request that is admitted."""

    cells: int
    layers: int
    positions: int
    prompt_chars: int
    body_bytes: int


class Queue(Wire):
    """Jobs of one kind."""

    active: int
    """Those that take turns on the model."""
    waiting: int


class Queues(Wire):
    """Sweeps, and everything else that needs the model."""

    sweep: Queue
    call: Queue


class SourceRunUse(Wire):
    """The store of source runs."""

    runs: int
    used_bytes: int
    budget_bytes: int


class Capabilities(Wire):
    """What can be asked of this server, and how busy it is."""

    model: ModelDescription
    metrics: list[Metric]
    pairings: list[Pairing]
    export_formats: list[ExportFormat]
    limits: ServerLimits
    queues: Queues
    source_runs: SourceRunUse
    dictionary_layers: list[int] = Field(default_factory=list, exclude_if=lambda value: not value)
    """Layers of this model whose features can be swept without naming a dictionary."""
    versions: dict[str, str]
    """Version by package: sonde, torch, transformers."""
