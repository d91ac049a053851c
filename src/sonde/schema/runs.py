"""Run directories as the gateway shows them: checkpoints, runs, and how the stream is doing."""

from typing import Any, Literal

from sonde.schema.base import Wire


class CheckpointRow(Wire):
    """One checkpoint."""

    step: int
    checkpoint: str
    metadata: dict[str, Any] | None
    """`aegir_metadata.json` as it is; null where it is missing or cannot be read."""
    n_sae_records: int
    """Whole lines of its snapshot that are not blank."""
    checkpoint_dir: str


class CheckpointList(Wire):
    """The checkpoints of a run, in numeric order."""

    rows: list[CheckpointRow]
    count: int
    p5_dir: str
    p5_dir_exists: bool


class Unended(Wire):
    """A run that says it is running, and has no trainer any more: it was killed."""

    step: int | None
    """The last that was done."""
    since: float | None
    """The last sign of life, in seconds since 1970."""
    why: str
    """How that is known: the writer's process is gone, or nothing was written for too long."""
    resume: str
    """What goes on with it: a command, or in words where a script of one's own began it."""
    command: bool
    """Whether `resume` is a command."""


class RunRow(Wire):
    """One run directory."""

    run: str
    """What `?run=` takes."""
    directory: str
    run_id: str | None
    """Null where there is no `run.json`, as in runs that Sonde did not write."""
    model: str | None
    status: str | None
    started: float | None
    layers: list[int] | None
    last_checkpoint: int | None
    live: bool
    """Whether there is a live file."""
    written: float | None
    """When a record was last written, in seconds since 1970."""
    missing: list[str]
    """Companion files that are not there; what needs them cannot be shown. A run that has not done
    a step yet lacks none."""
    unended: Unended | None = None
    last_step: int | None = None
    """The last step that was done, as far as its lines say; null where none was."""
    max_steps: int | None = None
    seconds: float | None = None
    """From its start to its end, or to its last sign of life."""
    step_seconds: float | None = None
    """What a step took lately."""
    seed: int | None = None
    preset: str | None = None
    rewards: list[float | None] = []
    """The mean reward over the run in at most 48 points, for a line as high as a word."""


class RunList(Wire):
    """The runs under the directory, the one written to last first."""

    runs: list[RunRow]
    count: int
    directory: str
    directory_exists: bool


class BadLineReport(Wire):
    """A line that was withheld."""

    file: str
    offset: int
    """Where it begins, in bytes."""
    fault: str


class StreamHealth(Wire):
    """How listening to one run goes."""

    run: str
    directory: str
    listeners: int
    catching_up: int
    """Listeners that have not been sent all that is there."""
    lag_bytes: int
    """How far the last of them is behind, in the file it is reading."""
    notifications: Literal["inotify", "stat", "none"]
    """`stat`: the files are looked at every few milliseconds; `none`: nobody listens."""
    why_stat: str | None
    bad_lines: int
    """Withheld since the gateway began to read this run."""
    first_bad_lines: list[BadLineReport]
    records_read: int
    records_per_second: float
    """Over the last ten seconds or so."""
    lines_sent: int


class GatewayHealth(Wire):
    """The gateway's part in delivering records."""

    status: Literal["ok", "stopping"] = "ok"
    uptime_seconds: float
    p5_dir: str
    p5_dir_exists: bool
    listeners: int
    cache_bytes: int
    cache_limit_bytes: int
    runs: list[StreamHealth]
