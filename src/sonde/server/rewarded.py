"""A test of the reward: completions of a run's checkpoint, leased from the pool while it is tested.

Only the catalog's prompts and verifier are known to a server. A reward of somebody's own is code on
that person's machine, and is not loaded because a run names it: the command line takes it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from sonde.backends.base import Backend, Row, Work, logprobs_of
from sonde.engine import Limits
from sonde.errors import BadRequest
from sonde.reward.exam import Exam, exam_of
from sonde.reward.request import DRAWS, TOP, checked
from sonde.runs.checkpoint_name import CheckpointName
from sonde.schema import Estimate, SweepKind
from sonde.schema.table import FeatureAxis, SweepRequest, TableEvent
from sonde.server.dictionaries import Dictionaries
from sonde.server.model_names import ModelSource
from sonde.server.pool import Pool


@dataclass(frozen=True, eq=False)
class Rewarded:
    """A sweep as `/v1/sweeps` takes it, with `reward`."""

    request: SweepRequest
    dictionaries: Dictionaries
    exam: Exam
    axis: FeatureAxis
    """With the run's own dictionary, unless another is named."""
    source: ModelSource
    kind: ClassVar[SweepKind] = "table"

    @classmethod
    def of(cls, request: SweepRequest, models: Pool, dictionaries: Dictionaries) -> "Rewarded":
        """The checkpoint and the prompts that a request means; what is wrong raises here."""
        axis, test = checked(request)
        if request.model is not None:
            raise BadRequest("`reward` says which checkpoint, so leave `model` out")
        steps = models.steps(test.run)
        if not steps:
            raise BadRequest(f"the run {test.run!r} has no checkpoint: train with --save-steps")
        step = steps[-1] if test.step is None else test.step
        source = models.find(str(CheckpointName(test.run, step)))
        exam = exam_of(
            models.layout(test.run), test.prompts, seed=request.seed, max_tokens=test.max_tokens
        )
        own = axis.model_copy(update={"dictionary": axis.dictionary or test.run})
        return cls(request, dictionaries, exam, own, source)

    def check(self, backend: Backend, limits: Limits) -> None:
        """Whether there is such a dictionary, and whether it is not too much."""
        self._check_size(limits)
        self.dictionaries.find(self.axis, backend.describe())

    def events(self, backend: Backend, limits: Limits) -> Iterator[TableEvent]:
        """Run it, on the engine's thread."""
        from sonde.reward.sampling import sweep_reward

        self._check_size(limits)
        autoencoder, name = self.dictionaries.read(self.axis, backend.describe())
        return sweep_reward(backend, self.request, self.exam, autoencoder, name=name)

    @property
    def _arms(self) -> int:
        """How often every prompt is completed."""
        axis = self.axis
        features = (axis.top or TOP) if axis.numbers is None else len(axis.numbers)
        return 1 + features * (1 + (DRAWS if axis.draws is None else axis.draws))

    def _check_size(self, limits: Limits) -> None:
        total = self._arms * len(self.exam.rows)
        if total > limits.cells:
            raise BadRequest(
                f"a test of {total} completions; at most {limits.cells} are admitted: take fewer "
                "prompts, features or draws"
            )

    def estimate(self, backend: Backend, limits: Limits) -> Estimate:
        """What it would cost: a pass over every prompt and its completion for every arm."""
        rows, arms = self.exam.rows, self._arms
        texts = [row["prompt"] for row in rows if isinstance(row["prompt"], str)]
        tokens = [backend.tokenize(text) for text in texts[:8]]
        alone = [Work(each, [Row(computed=True)], logprobs_of([0])) for each in tokens]
        cost = backend.cost(alone)
        length = sum(map(len, tokens))
        share = (length + len(tokens) * self.exam.max_tokens) / max(length, 1)
        times = arms * share * len(rows) / max(len(tokens), 1)
        return Estimate(
            cells=arms * len(rows),
            computed_cells=arms * len(rows),
            token_layers=round(cost.token_layers * times),
            working_bytes=cost.working_bytes,
            source_bytes=0,
            seconds=cost.seconds * times,
            chunks=arms * self.exam.max_tokens,
        )
