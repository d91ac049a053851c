"""The lines and small files of a run directory. Training writes them, anything may read them.

Writers give exactly the fields named here, because readers of `SAELogRecord` and `RunMetadata` pass
them on as keyword arguments. Readers ignore what they do not know, so a run that a later version
wrote still opens. A number that is missing or was not finite is null, never NaN.
"""

from typing import Literal

from pydantic import ConfigDict, Field

from sonde.schema.base import Wire

RunStatus = Literal["running", "finished", "stopped", "failed"]
"""`stopped`: early, on purpose. A run whose trainer was killed goes on saying `running`."""


class Filed(Wire):
    """A value that is kept in a file: unknown fields are left alone."""

    model_config = ConfigDict(extra="ignore", validate_by_name=True, serialize_by_alias=True)


class SAELogRecord(Filed):
    """What one token looked like to one layer's dictionary. Exactly six keys."""

    step: int
    """The optimizer step that consumed the generation."""
    token_index: int
    """Which token of the step: completion tokens of generation 0, then of 1, and so on. Where the
    last token of each prompt is recorded, it comes after the completion it decides."""
    layer_index: int
    top_feature_indices: list[int]
    """The features that fired hardest, hardest first; shorter where fewer fired, never padded."""
    top_feature_activations: list[float | None]
    """In the same order; null where a value was not finite."""
    reconstruction_loss: float | None
    """Squared error of the reconstruction, summed over the width."""


class Generation(Filed):
    """One completion and its reward, as one step learns from it. It joins records to rewards.

    A record belongs to the generation with the same `step` whose `[token_start, token_end)` holds
    its `token_index`. Where steps learn from one completion several times, it has a line for each,
    under one `generation_id`; to count completions, take those with `pass` 1.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    run_id: str
    step: int
    generation_id: str
    """`<step>-<number within the step>`, of its first pass: one completion, one id."""
    group_id: str
    """`<step>-<number of the prompt within the step>`: completions of one prompt share it."""
    token_start: int
    token_end: int
    prompt_token: int | None = None
    """The `token_index` of the last token of the prompt, which decides the first one of the
    completion: the last place of the span, after those of the completion. Null where it is not
    recorded: then all of the span is the completion's."""
    prompt_tokens: int
    completion_tokens: int
    truncated: bool
    """Whether it was cut at the length limit instead of ending by itself."""
    pass_number: int = Field(
        default=1,
        alias="pass",
        description="Which time a step learns from it: 2 and more where a trainer uses completions "
        "again. Such a line has the id, the reward and the text of the first one, and a step and "
        "tokens of its own.",
    )
    R: float | None
    """The reward; null where the trainer has none."""
    R_A: float | None
    R_B: float | None
    R_C: float | None
    R_D: float | None
    gate: bool | None
    """Whether R_A = 1; null where the reward has no gate."""
    advantage: float | None
    prompt: str
    completion: str


class GRPOMetrics(Filed):
    """One optimizer step in nine numbers."""

    iteration: int
    """The optimizer step."""
    rewards_mean: float | None
    rewards_std: float | None
    """With n − 1; null for a single reward."""
    rewards_min: float | None
    rewards_max: float | None
    advantage_mean: float | None
    advantage_std: float | None
    r_a_pass_rate: float | None
    n_invalid_compositions: int


class RunMetadata(Filed):
    """`aegir_metadata.json`: what a resumed run must agree with. Exactly these keys."""

    run_id: str
    """A uuid4, kept across resumes."""
    catalog_path: str
    catalog_version: str
    catalog_n_templates: int
    catalog_n_verbalized: int
    catalog_n_complex: int
    locked_weights: dict[str, float]
    locked_weights_hash: str
    """First 16 hex digits of the sha256 of the weights as JSON with sorted keys."""
    t_i_cache_path: str | None
    null_stats_path: str | None
    null_stats_hash: str
    """First 16 hex digits of the file's sha256, or `missing`."""
    started_at: float
    """Seconds since 1970, as is the next."""
    last_checkpoint_at: float
    last_checkpoint_step: int
    p5_brief_commit: str | None


class LayerHealth(Filed):
    """How well one layer's dictionary fits what it was shown since the last line."""

    layer_index: int
    tokens: int
    """How many tokens the numbers below are over; they are null when there were none."""
    fvu: float | None
    """Fraction of variance unexplained."""
    cosine: float | None
    """Mean cosine between a residual and its reconstruction."""
    l0: float | None
    """Mean number of active features."""
    dead_share: float | None
    """Share of features that have not fired since this trainer began."""
    input_norm: float | None
    """Mean norm of the residual."""
    records_written: int
    """Of the run so far; the same for the next two."""
    records_dropped: int
    non_finite: dict[str, int] = {}
    """Values that were not finite and were written as null, by field of `SAELogRecord`."""


class SidecarHealth(Filed):
    """`sae_health.jsonl`: one line a spill. Counts are of the run so far, resumed or not."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    run_id: str
    step: int
    time: float
    """Seconds since 1970."""
    layers: list[LayerHealth]
    records_written: int
    records_dropped: int
    """Not written: the queue was full or the disk was. Whole generations at a time."""
    records_lost: int = 0
    """Those among them that could not be written: the disk was full for too long."""
    generations_dropped: int = 0
    lines_lost: int = 0
    """Lines of generations, metrics and health that could not be written."""
    fragments: int = 0
    """Half lines that a killed writer left and this one ended or cut."""
    sidecar_ms: float | None
    """What recording cost per step since the last line."""
    alarms: list[str] = []


class Telemetry(Filed):
    """`telemetry.jsonl`: one line a step, what an engineer looks for first. Null is not known.

    The sidecar counts tokens, time and rewards itself. What only the trainer computes is taken from
    what it logs: it has to log (`logging_steps`), and is free to report it wherever it likes.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    run_id: str
    step: int
    time: float
    """Seconds since 1970."""
    kl: float | None = None
    """From the reference policy; null where the trainer keeps none, as with `beta` 0."""
    policy_loss: float | None = None
    entropy: float | None = None
    """Of the policy, per completion token."""
    grad_norm: float | None = None
    """Before clipping."""
    learning_rate: float | None = None
    completion_length: float | None = None
    """Mean number of tokens."""
    truncated_share: float | None = None
    """Share of completions that were cut at the length limit."""
    tokens_per_second: float | None = None
    """Prompt and completion tokens of the step, over what it took."""
    step_seconds: float | None = None
    """From the step before to this one."""
    seconds_left: float | None = None
    """Until `max_steps`, at the pace of the last steps."""
    reward_quantiles: list[float] | None = None
    """Of the step's rewards: the least, 10, 25, 50, 75 and 90 in 100, and the greatest."""


class SAEFile(Filed):
    """Which dictionary a layer was read with."""

    layer_index: int
    path: str
    sha256: str


class Cadence(Filed):
    """How often things are recorded and written."""

    record_every_n_tokens: int
    last_prompt_token: bool = False
    """Whether the last token of each prompt is recorded too."""
    spill_every_n_steps: int
    save_every_n_steps: int | None


class RunInfo(Filed):
    """`run.json`: what a run is. Written at its start, and again when its status changes."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    run_id: str
    model: str
    saes: list[SAEFile]
    layers: list[int]
    k: int
    cadence: Cadence
    versions: dict[str, str]
    started: float
    """Seconds since 1970."""
    status: RunStatus
    ended: float | None = None
    error: str | None = None
    task: str | None = None
    files: dict[str, str] = {}
    """sha256 of the files that rewards depend on, by what they are."""
    max_steps: int | None = None
    seed: int | None = None
    preset: str | None = None
    """The policy preset it was begun with; null for a script of one's own."""
