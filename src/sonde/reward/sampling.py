"""The reward test as a sweep: completions arm by arm, each graded as it ends.

1. **Without**  every prompt is completed as the checkpoint does it, and graded.
2. **Control**  a few of them again, by themselves and with an edit that adds nothing: they must be
   the same completions, whatever was beside them.
3. **Choose**   the features, where nobody names them, by what they do to those completions.
4. **With**     each feature changed; then each random direction of all of them, one draw after the
   other, so that a test that is stopped has compared all features with as many.

All arms have the same prompts and the same random numbers, so they differ by the change alone.
"""

import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

import numpy as np

from sonde.backends.base import Backend, GenerateRequest
from sonde.backends.edit import Edit, Passing, Rows
from sonde.errors import ControlFailed
from sonde.reward.arms import BARE, CELLS, RANDOM, Arm, Arms, Column
from sonde.reward.exam import Exam, Grade
from sonde.reward.found import MEANWHILE, RESAMPLES, Numbers, reward_found
from sonde.reward.likely import chosen_features
from sonde.reward.request import TOP, checked
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.evaluate import hook_of
from sonde.schema import Control, Timing
from sonde.schema.reward import RewardFound, TableReward, TableSampling
from sonde.schema.sweep import PromptTokens
from sonde.schema.table import SweepRequest, TableEvent, TableStart, TableSummary
from sonde.training.messages import text_of

CONTROLS = 4
"""Prompts that are completed again as a control."""
APART = 1_000_003
"""Between the seeds of one test and those of the next, so that no two have prompts' in common."""

Sampling = Generator[TableEvent, None, Column]


def sweep_reward(
    backend: Backend,
    request: SweepRequest,
    exam: Exam,
    autoencoder: Autoencoder,
    *,
    name: str | None = None,
) -> Iterator[TableEvent]:
    """Run a test of the reward. What is wrong with the request raises before the first event.

    `name` is what the dictionary is known by.
    """
    axis, _ = checked(request)
    test = _Test(backend, request, exam, Arms(autoencoder, axis))
    began = time.perf_counter()
    named = bool(test.arms.numbers)
    if named:
        yield test.start()
    test.without = yield from test.sample(BARE, told=named)
    control = test.control(test.without)
    graded = time.perf_counter()
    if not named:
        yield TableSampling(label="choosing features", done=0, of=len(exam.rows))
        test.choose(test.without)
        yield test.start()
        yield from test.cells(BARE, test.without)
    laid_out = time.perf_counter()
    for arm in test.arms:
        test.columns[arm.key] = yield from test.sample(arm)
        if test.arms.ends_a_round(arm):
            yield TableReward(found=test.found(MEANWHILE))
    ended = time.perf_counter()
    cells = len(exam.rows) * test.arms.count
    timing = Timing(
        baseline_seconds=graded - began,
        capture_seconds=laid_out - graded,
        cells_seconds=ended - laid_out,
        total_seconds=ended - began,
        cells=cells,
        computed_cells=cells,
        cells_per_second=cells / (ended - began),
    )
    yield test.summary(control, timing, name)


@dataclass(eq=False)
class _Test:
    """One test, and what has come of it."""

    backend: Backend
    request: SweepRequest
    exam: Exam
    arms: Arms
    without: Column | None = None
    columns: dict[tuple[int, tuple[int, ...]], Column] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        test = self.request.reward
        assert test is not None
        ends = frozenset(self.backend.describe().end_ids)
        self.requests = [
            GenerateRequest(
                tuple(self._tokens(row["prompt"])),
                max_tokens=test.max_tokens or self.exam.max_tokens,
                temperature=test.temperature,
                seed=APART * self.request.seed + number,
                stop_ids=ends,
            )
            for number, row in enumerate(self.exam.rows)
        ]

    def _tokens(self, prompt: object) -> list[int]:
        if isinstance(prompt, str):
            return self.backend.tokenize(prompt)
        assert isinstance(prompt, list)
        return self.backend.render_chat(prompt)

    # Sampling.

    def sample(self, arm: Arm, *, told: bool = True) -> Sampling:
        """Complete every prompt. Yields how far that is, and its cells where they are told."""
        n = len(self.requests)
        grades: dict[int, Grade] = {}
        said = [""] * n
        tokens: list[tuple[int, ...]] = [()] * n
        yield TableSampling(label=arm.label, done=0, of=n)
        for ended in self.backend.sample(self.requests, arm.edit):
            for number, made in ended:
                said[number], tokens[number] = self.backend.detokenize(made), made
                grades[number] = self.exam.grade(number, said[number])
                if told:
                    yield arm.cell(number, grades[number], said[number])
            yield TableSampling(label=arm.label, done=len(grades), of=n)
        return Column([grades[number] for number in range(n)], said, tokens)

    def cells(self, arm: Arm, column: Column) -> Iterator[TableEvent]:
        """The cells of an arm whose completions were sampled before its table was known."""
        for number, (grade, said) in enumerate(zip(column.grades, column.said, strict=True)):
            yield arm.cell(number, grade, said)

    def control(self, without: Column) -> Control:
        """Some prompts by themselves, with an edit that adds nothing: the same completions."""
        width = self.arms.autoencoder.d_out

        def nothing(passing: Passing) -> Rows:
            return np.zeros((len(passing.rows), width), dtype=np.float32)

        layer, hook = self.arms.axis.layer, self.arms.hook
        edit = Edit(layer, hook_of(self.arms.autoencoder), hook, nothing)
        some = self.requests[:CONTROLS]
        again = dict(each for ended in self.backend.sample(some, edit) for each in ended)
        others = sum(again[number] != without.tokens[number] for number in range(len(some)))
        exact = self.backend.describe().exact
        if others and exact:
            raise ControlFailed(
                f"{others} of {len(some)} completions are others when they are sampled by "
                "themselves with an edit that adds nothing; no number of this test can be trusted"
            )
        return Control(
            kind="alpha_zero",
            hook=hook,
            layer=layer,
            position=-1,
            difference=others / len(some),
            tolerance=0.0 if exact else 1.0,
            passed=True,
        )

    def choose(self, without: Column) -> None:
        """Decide which features, where nobody named them."""
        prompts = [request.tokens for request in self.requests]
        self.arms.numbers, self.notes["chosen"] = chosen_features(
            self.backend,
            self.arms.autoencoder,
            self.arms.axis,
            list(zip(prompts, without.tokens, strict=True)),
            without.rewards,
            self.arms.axis.top or TOP,
        )

    # Telling.

    @property
    def prompts(self) -> list[str]:
        """Their texts."""
        return [text_of(row["prompt"]) for row in self.exam.rows]

    @property
    def mean(self) -> float | None:
        """The reward without any change, once that is known."""
        return None if self.without is None else float(self.without.rewards.mean())

    def start(self) -> TableStart:
        """The axes."""
        return TableStart(
            tables=self.arms.tables(self.prompts),
            metric="reward",
            cells=len(self.requests) * self.arms.count,
            corrupt={"reward": self.mean},
            clean=None,
            tokens=PromptTokens(prompt=[]),
        )

    def found(self, resamples: int = RESAMPLES) -> RewardFound:
        """What is known so far."""
        assert self.without is not None
        changed: dict[int, Numbers] = {}
        random: dict[int, list[Numbers]] = {}
        others: dict[int, int] = {}
        for (table, at), column in self.columns.items():
            number = self.arms.numbers[at[0]]
            if table == CELLS:
                changed[number] = column.rewards
                pairs = zip(column.tokens, self.without.tokens, strict=True)
                others[number] = sum(one != other for one, other in pairs)
            elif table == RANDOM:
                random.setdefault(number, []).append(column.rewards)
        labels = {number: self.arms.label(number) for number in self.arms.numbers}
        gates = [grade.gate for grade in self.without.grades]
        rewards, seed = self.without.rewards, self.request.seed
        return reward_found(
            labels, rewards, gates, changed, random, others, seed=seed, resamples=resamples
        )

    def summary(self, control: Control, timing: Timing, name: str | None) -> TableSummary:
        """The last event."""
        assert self.without is not None
        axis, digest = self.arms.axis, self.arms.autoencoder.origin.sha256
        notes = {
            "layer": str(axis.layer),
            "dictionary": name or "memory",
            "how": "remove" if axis.value is None else f"clamp to {axis.value:g}",
            **({} if digest is None else {"dictionary_sha256": digest}),
            **self.exam.notes,
            **self.notes,
        }
        return TableSummary(
            tables=self.arms.tables(self.prompts, {**self.columns, BARE.key: self.without}),
            metric="reward",
            corrupt={"reward": self.mean},
            clean=None,
            recovered_of="logprob",
            noise_floor={"reward": None if control.difference else 0.0},
            controls=[control],
            skipped=[],
            alignment=None,
            notes=notes,
            warnings=[],
            timing=timing,
            tokens=PromptTokens(prompt=[]),
            reward=self.found(),
        )
