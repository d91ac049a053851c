"""A study as one file, and what its directory says of itself.

A study is a model, pairs, a sweep over them and statistics: everything that its numbers follow
from. The sweep has the fields of `SweepRequest`, and nothing of its own.
"""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from sonde.schema.base import Whole, Wire
from sonde.schema.table import SweepRequest

Count = Annotated[Whole, Field(ge=1, le=1_000_000)]


class StudyModel(Wire):
    """Which model, and how it is loaded."""

    name: Annotated[str, Field(min_length=1)]
    """What `sonde.load` takes; a path is relative to the study's file."""
    dtype: Literal["float32", "float16", "bfloat16"] | None = None
    device: str | None = None
    backend: Literal["torch", "vllm"] = "torch"
    tensor_parallel_size: Count = 1
    pipeline_parallel_size: Count = 1


class StudyTask(Wire):
    """Pairs that are made: they follow from these three."""

    name: str
    n: Count = 200
    seed: Whole = 0


class StudyStatistics(Wire):
    """How sure the means are, and how that is found out."""

    method: Literal["bca", "percentile"] = "bca"
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    resamples: Count = 10_000
    flips: Count = 10_000
    seed: Whole = Field(default=0, ge=0)
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    k: Count = 10
    clusters: bool = True
    """Take pairs of one cluster as one; without it, all as independent."""


class Study(Wire):
    """Everything that the numbers of a study follow from."""

    model: str | StudyModel
    task: StudyTask | None = None
    pairs: str | None = None
    """Instead of a task: a file of pairs, relative to the study's own."""
    sweep: SweepRequest = SweepRequest()
    statistics: StudyStatistics = StudyStatistics()


class Environment(Wire):
    """What the bits of a number may depend on beside the study."""

    python: str
    system: str
    cpu: str
    instruction_sets: list[str]
    threads: int
    device: str
    versions: dict[str, str]


class StudySession(Wire):
    """One run of a study that came to its end, or was not needed."""

    ended: AwareDatetime
    seconds: float
    pairs: int
    """How many were computed in it."""


class StudyRecord(Wire):
    """What a study's directory holds."""

    format: Literal["sonde-study"] = "sonde-study"
    version: Literal[1] = 1
    state: Literal["begun", "complete"]
    study: Study
    file: str
    file_sha256: str
    pairs: int
    pairs_digest: str
    weights: str | None = None
    """Fingerprint of the weights, known when a model has been loaded."""
    environments: list[Environment] = []
    """Where its pairs were computed: one, unless workers or sessions differ."""
    numbers: str | None = None
    """SHA-256 of all pairs' lines in their order: equal where every bit is."""
    sessions: list[StudySession] = []
    differs: list[str] | None = None
    """What was different when it was run again; empty where nothing was."""
