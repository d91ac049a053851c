"""What is asked of a run directory as a whole: tiles, correlations, the vocabulary, curves.

Every answer says how much of the run it is about (`coverage`). What cannot be computed is null, or
empty, and `reason` says what is missing; nothing is guessed.
"""

from typing import Literal

from sonde.schema.base import Wire

Measure = Literal["loss", "activation", "active"]
"""Of one record: its reconstruction loss, its strongest activation, or how many features it has."""

Ranking = Literal["sum", "count", "high"]
"""Features by summed activation, by how many tokens had them, or by their strongest activation."""

Unit = Literal["step", "token"]
"""What time is counted in: optimizer steps, or tokens of one step."""

Among = Literal["all", "passed", "failed", "within groups"]
"""`within groups`: both as differences from the mean of the generation's group."""


class Coverage(Wire):
    """How much of a run an answer is about."""

    complete: bool
    """Whether everything was read that was in the files when they were looked at."""
    bytes_read: int
    bytes_total: int
    """Of the files of records."""
    records: int
    withheld: int
    """Lines that are not valid JSON, or not what belongs in their file: no records, no generations,
    no metrics, no health. They are counted nowhere else."""


class MissingFile(Wire):
    """A file that a run does not have, and what cannot be shown for lack of it."""

    file: str
    prevents: str


class LayerCount(Wire):
    """What was recorded of one layer."""

    layer: int
    records: int
    features: int
    """How many different ones were among the strongest of some token."""


class Overview(Wire):
    """A run in a few numbers."""

    run: str
    coverage: Coverage
    first_step: int | None
    last_step: int | None
    steps: int
    """How many different ones there are."""
    unit: Unit
    """`token` where all records are of one step, as in runs that do not count steps."""
    layers: list[LayerCount]
    generations: int
    passed: int
    failed: int
    unjoined: int
    """Records that are of no generation that is known."""
    missing: list[MissingFile]
    cache: str | None
    """Where compacted records are kept; null where there are too few to bother."""


class Tile(Wire):
    """A heatmap of one stretch of time. Column c begins at `start + c · width`.

    Widths are powers of two and starts are multiples of them, so that columns stay what they are
    while a run grows. Extremes are kept: a spike of one token shows in `high` at every width.
    """

    coverage: Coverage
    axis: Literal["layer", "feature"]
    measure: Measure
    layer: int | None
    """The layer whose features are the rows."""
    unit: Unit
    step: int | None
    """The step whose tokens are counted, where tokens are."""
    level: int
    """`width` is 2 to the power of this."""
    start: int
    width: int
    columns: int
    rows: list[int]
    """Layers from the first, or features from the highest ranked."""
    records: list[list[int]]
    """How many records of the layer each column has: a row a layer."""
    count: list[list[int]]
    """How many values each cell has."""
    mean: list[list[float | None]]
    low: list[list[float | None]]
    high: list[list[float | None]]
    reason: str | None
    """Why there is nothing to see."""


class Coefficient(Wire):
    """A correlation and its 95 % interval."""

    r: float
    low: float | None
    """Null where the points lie on a line: there is no interval then."""
    high: float | None


class Correlation(Wire):
    """How reconstruction loss goes with the reward among some generations.

    Intervals are by Fisher's z; for Spearman's r with the variance of Bonett and Wright. They take
    generations to be independent.
    """

    among: Among
    n: int
    groups: int | None
    """How many groups the differences are from; n is smaller by so many in the interval."""
    pearson: Coefficient | None
    spearman: Coefficient | None
    reason: str | None


class GroupDifference(Wire):
    """Mean loss of passed minus failed generations of the same group, averaged over groups."""

    groups: int
    """Those with both."""
    mean: float | None
    low: float | None
    high: float | None
    """The 95 % interval: percentiles of 2,000 resamples of the groups, from a fixed seed; beyond
    500 groups, 1.96 standard errors."""
    reason: str | None


class ScatterPoints(Wire):
    """One entry a generation in each list, oldest first."""

    generation_id: list[str]
    group_id: list[str]
    step: list[int]
    R: list[float]
    gate: list[bool | None]
    loss: list[float]
    """Mean over the generation's recorded tokens."""
    loss_low: list[float]
    loss_high: list[float]


class Scatter(Wire):
    """Reconstruction loss against reward, one point a generation."""

    coverage: Coverage
    layer: int | None
    generations: int
    """In the stretch of steps that was asked for."""
    without_reward: int
    without_records: int
    rewards_zero: int
    """How many of the points have R = 0: rewards behind a gate have two humps."""
    correlations: list[Correlation]
    passed_minus_failed: GroupDifference
    points: ScatterPoints
    """The newest of them, as many as were asked for; correlations are over all."""
    points_total: int
    reason: str | None


class FeatureName(Wire):
    """A feature by its layer and number."""

    layer: int
    feature: int


class VocabularyFeature(Wire):
    """A feature that generations which pass the gate keep using."""

    layer: int
    feature: int
    same: list[FeatureName]
    """Others that exactly the same generations of the window have: one finding, one line."""
    sustained: int
    """How many of the last n passed generations have it."""
    passed_with: int
    failed_with: int
    lift: float | None
    """Share of passed generations with it over share of failed ones; null where none failed has
    it."""
    p: float | None
    """Chance of as many passed generations with it, were gates dealt at random within groups."""
    q: float | None
    """The same with false discoveries controlled over the whole family (Benjamini, Hochberg); null
    for what is in no family: no way to deal the gates would make its p as small as `rate`."""
    activation: float | None
    """Mean over the completion tokens of passed generations that have it."""


class Vocabulary(Wire):
    """Features of at least m of the last n passed generations, and whether failed ones lack them.

    A generation has a feature if it is among the strongest of at least `min_tokens` of its recorded
    completion tokens. Shares and p are over the window: all generations with a gate, from the step
    of the oldest of those n on; without an n, all of the run. Features that exactly the same
    generations have are one pattern of use, tested once. p is exact: the distribution over all ways
    to deal each group's gates among its generations. The family is every pattern that m generations
    of the window have, passed or not, and that some such dealing would give a p of `rate` or less;
    no dealing changes which these are.
    """

    coverage: Coverage
    layer: int | None
    n: int
    """How many passed generations there are of those asked for."""
    m: int
    min_tokens: int
    whole: bool
    """Whether the window is all of the run."""
    first_step: int | None
    last_step: int | None
    passed: int
    failed: int
    """In the window; the same for the next."""
    groups: int
    mixed_groups: int
    """Groups with both, which are what p is made of."""
    family: int
    """How many patterns of use are tested."""
    least_q: float | None
    """The smallest q that any dealing of the gates could give: how much these groups can tell."""
    significant: int
    """How many lines have q at or below `rate`, those in nearly all generations included."""
    rate: float
    exact: bool
    """False where there are so many generations that p is the normal distribution's."""
    total: int
    """How many lines there are; `features` may be fewer."""
    features: list[VocabularyFeature]
    """By q, then lift, then how sustained they are."""
    everywhere_total: int
    everywhere: list[VocabularyFeature]
    """Set apart: features in nearly all generations of the window (95 %), in the same order."""
    reason: str | None
    """Why there are none."""
    reason_p: str | None
    """Why they have no p."""


class LayerFeatures(Wire):
    """What one layer's dictionary saw in a token."""

    layer: int
    features: list[int]
    activations: list[float | None]
    loss: float | None


class TokenFeatures(Wire):
    """One recorded token."""

    token_index: int
    position: int
    """Counted from the beginning of the completion, or of the stretch that was asked for. -1 is the
    last token of the prompt."""
    layers: list[LayerFeatures]


class TokenStretch(Wire):
    """Recorded tokens of a step."""

    coverage: Coverage
    step: int
    start: int
    end: int
    tokens: list[TokenFeatures]
    more: bool
    """Whether there are more than were returned."""


class GenerationRow(Wire):
    """One generation in a list."""

    generation_id: str
    group_id: str
    step: int
    R: float | None
    R_A: float | None
    R_B: float | None
    R_C: float | None
    R_D: float | None
    gate: bool | None
    advantage: float | None
    truncated: bool
    prompt_tokens: int
    completion_tokens: int
    token_start: int
    token_end: int
    prompt: str | None
    completion: str | None
    """Null in lists that were asked for without text, or where the line is no longer there."""


class GenerationPage(Wire):
    """Generations, newest first."""

    coverage: Coverage
    generations: list[GenerationRow]
    total: int
    next: int | None
    """What `before` takes to go on; null at the end."""
    reason: str | None


class Sibling(Wire):
    """Another completion of the same prompt."""

    generation_id: str
    R: float | None
    gate: bool | None


class GenerationView(Wire):
    """One generation, token by token."""

    coverage: Coverage
    generation: GenerationRow
    siblings: list[Sibling]
    tokens: list[TokenFeatures]
    more: bool
    reason: str | None
    """Why there are no tokens."""


class Series(Wire):
    """One number over steps. Column c begins at the tile's `start + c · width`."""

    name: str
    layer: int | None
    count: list[int]
    mean: list[float | None]
    low: list[float | None]
    high: list[float | None]


class AlarmSpan(Wire):
    """A warning of the trainer, from when to when."""

    alarm: str
    """As it was said last."""
    first_step: int
    last_step: int
    standing: bool
    """Whether it is in the newest health line."""


class Curves(Wire):
    """Numbers over steps: of rewards, or of the recording's health."""

    coverage: Coverage
    start: int
    width: int
    columns: int
    first_step: int | None
    last_step: int | None
    series: list[Series]
    alarms: list[AlarmSpan]
    reason: str | None
