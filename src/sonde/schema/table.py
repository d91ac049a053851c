"""A sweep as a table: what is asked of `POST /v1/sweeps`, what comes of it, event by event.

Axes choose what varies. Inner axes (hook, layer, head, position, feature) choose the writes of a
row; outer ones (pair, checkpoint) choose the trial. A new kind of experiment is a new axis, hook or
source here, never a second request. The classic `PatchSweepRequest` is a view of the same.
"""

from typing import Annotated, Literal

from pydantic import Field, FiniteFloat

from sonde.schema.base import Whole, Wire
from sonde.schema.checkpoint import CheckpointAxis
from sonde.schema.curve import CircuitCurve, CircuitSizes
from sonde.schema.pair import PromptPair, RoleName
from sonde.schema.prompt import Alignment, Answers, Layers, Pairing, Position, Prompt
from sonde.schema.reward import RewardFound, RewardTest, TableReward, TableSampling
from sonde.schema.site import Hook
from sonde.schema.source_run import RunName
from sonde.schema.sweep import Control, Failed, PromptTokens, Skipped, Timing
from sonde.schema.verification import Gradient, Verification

AxisName = Literal[
    "checkpoint",
    "prompt",
    "pair",
    "direction",
    "hook",
    "layer",
    "head",
    "position",
    "role",
    "feature",
    "draw",
    "sender",
    "receiver",
]

TableMetric = Literal[
    "logprob", "logit_diff", "recovered", "prob", "kl_clean", "kl_corrupt", "rank", "top1", "reward"
]
"""`logprob` and `prob` of the answer · `logit_diff` answer minus foil · `recovered` share of the
gap between corrupt and clean that is won back: of the logit difference where there is a foil, of
the log-probability where there is none · `kl_clean`, `kl_corrupt` divergence from the clean, or the
unpatched corrupt, prompt's last distribution, summed over the vocabulary · `rank` how many tokens
are likelier than the answer · `top1` 1 where none is, else 0 · `reward` what a sampled completion
is worth to the run's verifier: of sweeps with `reward`, which have no other."""

Head = Annotated[Whole, Field(ge=0)]
Heads = (
    Annotated[
        list[Head | Annotated[list[Head], Field(min_length=1, max_length=1_000)]],
        Field(min_length=1, max_length=10_000),
    ]
    | Literal["all", "together"]
)
"""Each alone, or several at once where a list stands in the list."""

LayerWindows = Annotated[str, Field(pattern=r"^windows:[1-9][0-9]{0,3}$")]
"""`windows:5`: each layer with its neighbours, five at once, fewer at either end."""

Listed = Annotated[list[Position | RoleName], Field(max_length=100_000)]
TablePositions = Literal["each", "together", "roles"] | Listed

Direction = Literal["denoise", "noise"]
"""`denoise` writes the clean prompt's activations into the corrupt one · `noise` the corrupt
prompt's into the clean one, which is denoising with the prompts exchanged."""

Method = Literal["exact", "attribution", "adaptive"]
"""`exact` runs every cell · `attribution` scores all of them to first order, from one gradient, and
runs the strongest and a random sample to verify it · `adaptive` runs only what attribution, and
what was found so far, point to: the strongest cells of a table too large to compute whole."""

Frozen = Literal["edge", "path", "path+mlps"]
"""What the way from a sender to a receiver leaves as it is. `edge`: everything but this one
receiver's input, which reads the stream with the sender's change added · `path`: all attention and
all MLPs before the receivers, which may be several at once · `path+mlps`: attention alone, so that
MLPs on the way compute anew. What comes after the receivers is always computed anew, norms too."""

NodeName = Annotated[str, Field(min_length=1, max_length=1_000)]
"""A sender or receiver (`sonde.nodes`): `embed`, `z:9.6` (layer.head), `mlp_out:3`; `q:12.4`,
`k:12.1`, `v:12.1`, `mlp:20`, `logits`, `total`. `z:9` and `z` are all that they leave open, `all`
is every one, and what `+` joins is written at once."""
NodeNames = Annotated[list[NodeName], Field(min_length=1, max_length=10_000)]

SweepId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class FeatureAxis(Wire):
    """Features of one dictionary, each of them changed in the corrupt prompt's activations.

    What a feature adds there is its activation times its decoder row. `patch` makes that what it
    adds in the clean prompt, `remove` nothing, and `clamp` what an activation of `value` adds.
    `alpha` times the difference is written, and nothing else is touched: what the dictionary does
    not explain stays, and no feature is computed anew.
    """

    layer: Whole = Field(ge=0)
    how: Literal["patch", "remove", "clamp"] | None = None
    """Without it, `patch` where there is a clean prompt, `remove` where there is none."""
    value: FiniteFloat | None = None
    """With `clamp`: the activation that the feature has instead, at all positions alike."""
    numbers: Annotated[list[Whole], Field(max_length=10_000)] | None = None
    """Which; without it, those that `by` puts first."""
    top: Whole | None = Field(default=None, ge=1, le=10_000)
    """How many, where they are not named; fewer where fewer are active. Without it 8, and 3 of a
    test of the reward."""
    also: Annotated[list[Whole], Field(max_length=1_000)] | None = None
    """Further ones, below those that `by` puts first: what somebody asked about."""
    bright: Whole = Field(default=0, ge=0, le=1_000)
    """So many of the most active at the last position, below these: what the eye would choose."""
    by: Literal["attribution", "activation"] | None = None
    """What puts features first: `attribution`, how far the metric moves to first order in any of
    their cells; `activation`, how active they are at the last position. Without it, attribution
    where the backend has gradients. Every number of the table is exact either way."""
    error: bool | None = None
    """Whether rows of their own stand below the features: all features at once, what the dictionary
    leaves over, and both. Without it, where features are patched."""
    dictionary: str | None = None
    """One that the server knows by name, in Python also a path; without it, the shipped or the
    run's own of that layer."""
    draws: Whole | None = Field(default=None, ge=0, le=10_000)
    """Random directions beside each row, at every position as long as what is written there.
    Without it 19, and 4 of a test of the reward."""
    alike: Whole = Field(default=0, ge=0, le=1_000)
    """Other features beside each, those whose change is nearest in length."""
    seed: Whole = Field(default=0, ge=0)


class SweepRequest(Wire):
    """Run every row of a table of writes, and tell what came of each."""

    model: str | None = None
    corrupt: Prompt | None = None
    """The prompt that is written to."""
    clean: Prompt | None = None
    """The prompt whose activations are written; not needed for features and zeros."""
    answer: Answers | None = None
    foil: Answers | None = None
    pairs: Annotated[list[PromptPair], Field(min_length=1, max_length=10_000)] | None = None
    """Instead of these four: many pairs, each a trial of its own."""
    direction: Direction | Literal["both"] = "denoise"
    """With `pairs`: which of a pair's prompts is written to, or both, one after the other."""
    drop_wrong: bool = True
    """With `pairs`: leave out those that the model gets wrong. With a foil, whose answer is not
    likelier than the foil after the clean prompt, or is after the corrupt one; without, whose
    answer is not likelier after the clean prompt than after the corrupt one."""
    one_token: bool = False
    """With `pairs`: leave out those with an answer or a foil of several tokens."""
    resume: SweepId | None = None
    """A sweep over pairs that did not finish: go on with it. Everything else is taken from it."""
    hooks: Annotated[list[str], Field(min_length=1, max_length=64)] | None = None
    """`post_block`, if none is named. With `features` they are the dictionary's own."""
    layers: Layers | LayerWindows | None = None
    """All of them, if none is named."""
    heads: Heads | None = None
    """At hooks that have a value for each head: all of them, if none is named; `together` writes
    all of a layer in one row."""
    kv: Literal["group", "reader"] = "group"
    """At keys and values: what every query head of the group sees, or one of them alone, which is
    then what `heads` counts."""
    positions: TablePositions | None = None
    """With `pairs`, names of roles, such as `subject_last` or `end`; `roles` is every role that
    all pairs have, and what is meant if nothing is said and there are some. `each` has a column for
    every position; `together` writes all of them in one row, and is what hooks of heads have if
    nothing is said. With `features`, those where one is active, and then all of them together,
    `everywhere`. Of pairs, numbers count from either end: -1 is the last token.
    """
    source: Literal["clean", "zero", "mean", "resample"] = "clean"
    """The clean prompt's activations · zeros · the mean over the `reference` prompts · one of those
    prompts, drawn for every cell."""
    reference: Annotated[list[Prompt], Field(min_length=1, max_length=10_000)] | None = None
    mean_over: Literal["position", "tokens"] = "position"
    """A mean for each position, of prompts as long as the corrupt one; or one over all tokens."""
    seed: Whole = Field(default=0, ge=0)
    """What `resample` and `sample` draw with."""
    source_run: RunName | None = None
    """A stored run of the clean prompt; without it, the clean prompt is captured and dropped."""
    alpha: FiniteFloat = 1.0
    pairing: Pairing = "strict"
    senders: NodeNames | None = None
    """With `receivers`: a table of edges or paths, from each sender to each receiver. Receiver
    `logits` is the direct effect, `total` what an ordinary patch of the sender does."""
    receivers: NodeNames | None = None
    frozen: Frozen | None = None
    """With `senders`; `edge`, if nothing is said."""
    features: FeatureAxis | None = None
    method: Method = "exact"
    gradient: Gradient = "atp"
    """With `attribution` and `adaptive`: where the gradient is taken."""
    steps: Whole = Field(default=5, ge=1, le=1_000)
    """At how many points, with `eap-ig`."""
    verify: Whole | None = Field(default=None, ge=0, le=100_000)
    """With `attribution`: how many of the strongest cells are run too; without it, 200. With
    `adaptive`: how many of the strongest are to be found; without it, 10."""
    sample: Whole = Field(default=200, ge=0, le=100_000)
    """Cells drawn at random among the others, with `seed`, and run to say what was missed."""
    circuits: CircuitSizes | None = None
    """With `attribution` of one pair: how much of the model so many of the strongest are."""
    checkpoints: CheckpointAxis | None = None
    """The same sweep on every checkpoint of a run, instead of on one model. What the model decides,
    which foil and which features, the newest decides for all: it is run first."""
    reward: RewardTest | None = None
    """Instead of prompts and answers: completions of a run's prompts are sampled with each of the
    `features` removed or clamped at every position, and graded as the run grades them."""
    metric: TableMetric | None = None
    """`logprob`, if none is named; with `features` of one prompt, `logit_diff`."""
    metrics: Annotated[list[TableMetric], Field(max_length=16)] | None = None
    """Further ones, from the same runs."""
    stream: bool = False


class Axis(Wire):
    """What varies along one side of a table."""

    name: AxisName
    values: list[int | str]
    labels: list[str]
    """The same for people: the token at a position, the name of a layer."""


class Table(Wire):
    """Numbers over some axes, row by row: the last axis varies fastest."""

    kind: Literal["cells", "random_direction", "alike", "baseline"] = "cells"
    """What a row is: what was asked for, or something to compare it with: a random direction, or
    another feature, both changed at all positions at once; or completions without any change."""
    hook: Hook
    axes: list[Axis]
    values: dict[TableMetric, list[float | None]]
    """Null where there is no number; `skipped` or `activations` says why."""
    activations: list[float] | None = Field(default=None, exclude_if=lambda value: value is None)
    """With a feature axis: how active the feature is in each cell, `everywhere` at the most; where
    it is patched or clamped, how much more active it is made. Of rows that are no single feature,
    the length of what is written. A null value is a cell where the feature is active nowhere."""
    said: list[str | None] | None = Field(default=None, exclude_if=lambda value: value is None)
    """Where completions are sampled: the text of each, in the order of the values."""


class DroppedPair(Wire):
    """A pair that is in no table, and why."""

    pair: int
    """Its number in the request, from 0."""
    reason: str


class PairRecord(Wire):
    """One pair of a table of many: what its cells are read against."""

    pair: int
    """Its number in the request, from 0."""
    prompts: PromptPair
    corrupt: dict[TableMetric, float | None]
    """The unpatched corrupt prompt; for `recovered`, in the units it is a share of."""
    clean: dict[TableMetric, float | None]
    noise_floor: dict[TableMetric, float | None]
    """The larger one, where there are two directions."""
    controls: list[Control]
    roles: dict[str, list[int]]
    """Where each column is in the prompt that is written to; of both directions, the first's."""
    skipped: list[Skipped]
    tokens: PromptTokens


class CheckpointRecord(Wire):
    """One checkpoint of a table of many: what its cells are read against."""

    step: int
    model: str
    weights: str
    corrupt: dict[TableMetric, float | None]
    """The unpatched corrupt prompt; for `recovered`, in the units it is a share of."""
    clean: dict[TableMetric, float | None] | None
    noise_floor: dict[TableMetric, float | None]
    controls: list[Control]
    skipped: list[Skipped]
    timing: Timing


class TableStart(Wire):
    """The axes are final; the tables are still empty."""

    type: Literal["start"] = "start"
    id: str | None = Field(default=None, exclude_if=lambda value: value is None)
    tables: list[Table]
    metric: TableMetric
    cells: int
    corrupt: dict[TableMetric, float | None]
    clean: dict[TableMetric, float | None] | None
    tokens: PromptTokens
    dropped: list[DroppedPair] | None = Field(default=None, exclude_if=lambda value: value is None)
    """Pairs that are unfit whatever the model says of them."""


class TableCell(Wire):
    """One finished cell."""

    type: Literal["cell"] = "cell"
    table: int
    at: list[int]
    """An index on each of its axes."""
    values: dict[TableMetric, float | None]
    error: str | None = Field(default=None, exclude_if=lambda value: value is None)
    said: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """The completion that was sampled."""


class TablePair(Wire):
    """One finished pair of a sweep over many: all of its cells."""

    type: Literal["pair"] = "pair"
    record: PairRecord
    values: list[dict[TableMetric, list[float | None]]]
    """Its row of every table."""
    means: list[list[float | None]]
    """For every table the main metric over the pairs so far: the mean, for `recovered` the ratio
    of means."""
    done: int
    """Pairs so far, those dropped included."""


class TableDropped(Wire):
    """A pair that turned out to be unfit."""

    type: Literal["dropped"] = "dropped"
    dropped: DroppedPair
    done: int


class TableVerifying(Wire):
    """Some more of the cells that are run to verify first-order scores."""

    type: Literal["verifying"] = "verifying"
    done: int
    """Cells so far; over many pairs, pairs."""


class SweepTable(Wire):
    """Everything a finished sweep found.

    Over many pairs, baselines are means and the noise floor is the largest; `tokens` and
    `alignment` are each pair's own. Over many checkpoints baselines are those of the newest, the
    noise floor is the largest, and each has its own in `checkpoints`.
    """

    tables: list[Table]
    metric: TableMetric
    corrupt: dict[TableMetric, float | None]
    """The unpatched corrupt prompt; for `recovered`, in the units it is a share of."""
    clean: dict[TableMetric, float | None] | None
    """The clean prompt, where it was run."""
    recovered_of: Literal["logit_diff", "logprob"]
    """What `recovered` is a share of here."""
    noise_floor: dict[TableMetric, float | None]
    controls: list[Control]
    skipped: list[Skipped]
    alignment: Alignment | None
    notes: dict[str, str]
    """What was chosen on the way: the dictionary, the foil, where not said in the request; and
    which features were asked for and are active nowhere in the prompt."""
    warnings: list[str]
    timing: Timing
    tokens: PromptTokens
    pairs: list[PairRecord] | None = Field(default=None, exclude_if=lambda value: value is None)
    """Those along the axis `pair`, in its order."""
    dropped: list[DroppedPair] | None = Field(default=None, exclude_if=lambda value: value is None)
    verification: Verification | None = Field(default=None, exclude_if=lambda value: value is None)
    """Where cells were not all run: what exact runs say of the scores, and of what was left out."""
    circuits: list[CircuitCurve] | None = Field(
        default=None, exclude_if=lambda value: value is None
    )
    """Of those that were asked for, and random ones as large; of none, a warning says why."""

    checkpoints: list[CheckpointRecord] | None = Field(
        default=None, exclude_if=lambda value: value is None
    )
    """Those along the axis `checkpoint`, in its order."""
    reward: RewardFound | None = Field(default=None, exclude_if=lambda value: value is None)
    """What the reward owes to each feature, where that was tested."""


class TableSummary(SweepTable):
    """The same as the last event of a stream."""

    type: Literal["summary"] = "summary"


TableEvent = Annotated[
    TableStart
    | TableCell
    | TablePair
    | TableDropped
    | TableVerifying
    | TableSampling
    | TableReward
    | TableSummary
    | Failed,
    Field(discriminator="type"),
]
