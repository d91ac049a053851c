"""A patch sweep on the wire: the request, the events, the summary, the estimate."""

from typing import Annotated, Final, Literal

from pydantic import Field, FiniteFloat

from sonde.schema.base import Whole, Wire
from sonde.schema.prompt import Alignment, Layers, Pairing, Position, Positions
from sonde.schema.site import Hook
from sonde.schema.source_run import RunName

Metric = Literal["logprob", "logit_diff", "recovered"]
"""`logprob` of the answer · `logit_diff` answer minus foil · `recovered` share of the gap between
corrupt and clean answer log-probability that the patch wins back (0 is corrupt, 1 is clean)."""

MIN_GAP: Final = 1e-9
"""Clean and corrupt closer than this have no gap to recover a share of."""


class Mask(Wire):
    """Which dimensions a patch touches: a list of them, or a row of weights in `patch_vectors`."""

    indices: Annotated[list[Whole], Field(max_length=100_000)] | None = None
    inline: Whole | None = None


class PatchVectors(Wire):
    """A packed table of vectors: row-major, little-endian, base64."""

    dtype: Literal["float32", "float16", "bfloat16"]
    shape: list[int]
    data: str


class PatchSweepRequest(Wire):
    """Patch every (hook, layer, position) of a grid, one at a time, and grade each."""

    model: str | None = None
    prompt: str
    """The corrupt prompt: the one that is patched."""
    layers: Layers
    positions: Positions = "all_prompt"
    hook: str = "post_block"
    hooks: list[str] | None = None
    """Wins over `hook`; the grids then come in `hook_grids`."""
    source_run: RunName | None = None
    clean_prompt: str | None = None
    clean_baseline: FiniteFloat | None = None
    keep_source: bool = False
    source_module: str | None = None
    source_inline: Whole | None = None
    patch_vectors: PatchVectors | None = None
    mask: Mask | None = None
    alpha: FiniteFloat = 1.0
    answer_token: str | None = None
    answer_token_id: Whole | None = None
    foil_token: str | None = None
    foil_token_id: Whole | None = None
    metric: Metric = "logprob"
    metrics: list[Metric] | None = None
    """Further metrics from the same forward passes; their grids come in `metric_grids`."""
    pairing: Pairing = "strict"
    source_positions: list[Position] | None = None
    """Explicit clean positions, one for each resolved position, instead of alignment."""
    logprobs: int = Field(default=20, ge=1)
    stream: bool = False


class Extreme(Wire):
    """The cell with the largest, or the smallest, value of a grid."""

    layer: int
    position: int
    value: float


Grid = list[list[float | None]]


class HookGrid(Wire):
    """One hook's grid: rows are layers, columns are positions."""

    hook: Hook
    grid: Grid
    argmax: Extreme | None
    argmin: Extreme | None


class MetricGrid(HookGrid):
    """One further metric's grid at one hook."""

    metric: Metric


class Skipped(Wire):
    """A position or a cell without a number, and why."""

    hook: Hook | None = Field(default=None, exclude_if=lambda value: value is None)
    layer: int | None = Field(default=None, exclude_if=lambda value: value is None)
    position: int
    reason: str


class Control(Wire):
    """A cell that changes nothing by construction, computed like any other, and what came out."""

    kind: Literal["alpha_zero", "self_patch"]
    hook: Hook
    layer: int
    head: int | None = Field(default=None, exclude_if=lambda value: value is None)
    position: int
    difference: float
    """Largest absolute difference of a graded log-probability from the baseline's."""
    tolerance: float
    passed: bool


class Timing(Wire):
    """Where the seconds went."""

    baseline_seconds: float
    capture_seconds: float
    cells_seconds: float
    total_seconds: float
    cells: int
    computed_cells: int
    """Cells that needed work; the rest equal the baseline by causality or identical sources."""
    cells_per_second: float


class PromptTokens(Wire):
    """The tokens of a prompt as text, so that a reader sees words under the columns."""

    prompt: list[str]
    clean: list[str] | None = None


class Start(Wire):
    """The axes are final: spans resolved, unaligned positions removed."""

    type: Literal["start"] = "start"
    layers: list[int]
    positions: list[int]
    hook: Hook
    metric: Metric
    auto_captured: bool
    captured_source_run: str | None
    hooks: list[Hook] | None = Field(default=None, exclude_if=lambda value: value is None)
    cells: int
    tokens: PromptTokens
    corrupt: float | None = Field(default=None, exclude_if=lambda value: value is None)
    """The baseline, as in the summary: with it a half-filled heatmap has its scale's zero."""
    id: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """The sweep's id on a server."""


class Cell(Wire):
    """One finished cell, in completion order."""

    type: Literal["cell"] = "cell"
    hook: Hook
    layer: int
    position: int
    value: float | None
    """The metric at this site; None when `error` says why there is no number."""
    values: dict[Metric, float | None] | None = Field(
        default=None, exclude_if=lambda value: value is None
    )
    """All metrics, when several were asked for."""
    error: str | None = Field(default=None, exclude_if=lambda value: value is None)


class SweepSummary(Wire):
    """Everything a finished sweep found. Absent values are null; no key is ever left out."""

    layers: list[int]
    positions: list[int]
    hook: Hook
    metric: Metric
    grid: Grid
    clean: float | None
    corrupt: float | None
    argmax: Extreme | None
    argmin: Extreme | None
    skipped: list[Skipped]
    alignment: Alignment | None
    noise_floor: float | None
    auto_captured: bool
    captured_source_run: str | None
    hook_grids: list[HookGrid] | None
    metric_grids: list[MetricGrid] | None
    controls: list[Control]
    warnings: list[str]
    timing: Timing
    tokens: PromptTokens


class Summary(SweepSummary):
    """The summary as the last event of a stream."""

    type: Literal["summary"] = "summary"


class Loading(Wire):
    """The model that was asked for is being loaded: in the stream of a server, before `start`."""

    type: Literal["loading"] = "loading"
    model: str
    message: str
    """How that goes, for people."""


class Failed(Wire):
    """The sweep ended without a summary."""

    type: Literal["error"] = "error"
    error: str
    state: Literal["failed", "cancelled", "interrupted"] = "failed"
    """`cancelled`: somebody stopped it · `interrupted`: the server ended before it did."""


SweepEvent = Annotated[Start | Cell | Summary | Failed, Field(discriminator="type")]


class Estimate(Wire):
    """What a sweep will cost, before it starts."""

    cells: int
    computed_cells: int
    token_layers: int
    """Σ(L−l)(T−p): tokens times layers that have to be computed."""
    working_bytes: int
    """Peak memory of the computation, beside the weights."""
    source_bytes: int
    """Memory of the source run that would be captured."""
    seconds: float
    chunks: int
