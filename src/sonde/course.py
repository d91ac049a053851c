"""The checkpoints of a run, as people use them from Python.

through = sonde.checkpoints("runs/one")
result = through.sweep(clean="The Eiffel Tower is in the city of",
                       corrupt="The Colosseum is in the city of", answer=" Paris")

The same sweep on every one of them, in one table: when did the policy begin to use this site, this
head, this feature? One model is in memory at a time, the newest first.
"""

import gc
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from sonde.engine.course import Work, sweep_course
from sonde.engine.edges import table_cells
from sonde.engine.sites import CellsOf
from sonde.errors import BadRequest, UnknownRun
from sonde.model import Model, OnEvent, load
from sonde.request import sweep_request
from sonde.results import CheckpointSweep, Provenance, RewardSweep
from sonde.results.provenance import versions
from sonde.runs.checkpoint_name import CheckpointName
from sonde.runs.layout import RunLayout
from sonde.runs.listing import checkpoints as steps_of
from sonde.runs.listing import is_run
from sonde.schema import ModelDescription
from sonde.schema.checkpoint import CheckpointAxis
from sonde.schema.reward import RewardTest
from sonde.schema.table import FeatureAxis, SweepRequest, TableSummary


class Checkpoints:
    """Some checkpoints of one run."""

    def __init__(
        self, run: str | Path, steps: Sequence[int] | Literal["all"] = "all", **loading: Any
    ) -> None:
        """`run` is its directory; `loading` are options of `sonde.load`."""
        self.layout = RunLayout(Path(run).expanduser())
        if not is_run(self.layout):
            raise UnknownRun(str(run))
        self.steps = chosen_steps(str(run), self.layout, steps)
        self._loading = loading
        self._newest: Model | None = None

    def sweep(
        self,
        *,
        sources_from: int | None = None,
        on_event: OnEvent | None = None,
        **asked: Any,
    ) -> CheckpointSweep:
        """What `Model.sweep` does, on every checkpoint.

        `sources_from` is a checkpoint whose activations of the clean prompt are written into all.
        """
        request = sweep_request(n_layers=0, **asked)
        if not isinstance(request, SweepRequest):
            raise BadRequest("a classic sweep is of one model; leave out what only that has")
        return self.run(self.request(request, sources_from), on_event=on_event)

    def reward(
        self,
        features: FeatureAxis,
        *,
        step: int | None = None,
        prompts: int = 64,
        max_tokens: int | None = None,
        temperature: float = 1.0,
        seed: int = 0,
        verify: Callable[..., Any] | None = None,
        rows: Iterable[Mapping[str, Any]] | None = None,
        on_event: OnEvent | None = None,
    ) -> RewardSweep:
        """What the reward hangs on, at one checkpoint, the last of these unless it is named.

        Completions of `prompts` prompts that the run was not trained on are sampled without and
        with each of the `features` removed (or clamped) at every position, and with random
        directions as long, and graded as the run graded them. A run with a reward of your own needs
        it again: `verify(prompt, completion, **columns)` and `rows`, each with a `prompt`.

        sonde.checkpoints("runs/one").reward(sonde.Features(layer=15, numbers=[748])).effects
        """
        from sonde.reward.exam import exam_of
        from sonde.reward.sampling import sweep_reward
        from sonde.sae.of_run import dictionary_of
        from sonde.sae.own_cells import own_cells

        step = self.steps[-1] if step is None else step
        chosen_steps(str(self.layout.directory), self.layout, [step])
        run = str(self.layout.directory)
        test = RewardTest(
            run=run, step=step, prompts=prompts, max_tokens=max_tokens, temperature=temperature
        )
        request = SweepRequest(features=features, reward=test, seed=seed)
        exam = exam_of(
            self.layout, prompts, seed=seed, max_tokens=max_tokens, verify=verify, rows=rows
        )
        model = self._newest if step == self.steps[-1] and self._newest else self._load(step)
        if features.dictionary is None:
            own, _why_not = dictionary_of(self.layout, features.layer)
            named = None if own is None else str(own)
            features = features.model_copy(update={"dictionary": named})
        made = own_cells(features, model.describe())
        events = sweep_reward(model.backend, request, exam, made.autoencoder, name=made.name)
        for event in events:
            if on_event is not None:
                on_event(event)
            if isinstance(event, TableSummary):
                source = Provenance.of(model.describe(), request, versions=versions())
                return RewardSweep(event, source)
        raise AssertionError("a test ends with its summary")

    def describe(self) -> ModelDescription:
        """The newest of them, loaded for that; it is the first to be swept."""
        self._newest = self._newest or self._load(self.steps[-1])
        return self._newest.describe()

    def request(self, request: SweepRequest, sources_from: int | None = None) -> SweepRequest:
        """The same request of all these checkpoints."""
        axis = CheckpointAxis(
            run=str(self.layout.directory), steps=self.steps, sources_from=sources_from
        )
        return request.model_copy(update={"checkpoints": axis})

    def run(self, request: SweepRequest, *, on_event: OnEvent | None = None) -> CheckpointSweep:
        """Run a request with `checkpoints` to its end."""
        models: list[ModelDescription] = []

        def on(step: int, work: Work) -> Generator[object, None, None]:
            kept = self._newest if step == self.steps[-1] else None
            model, self._newest = kept or self._load(step), None
            models.append(model.describe())
            yield from work(model.backend)

        events = sweep_course(request, self.steps, on, cells_for=partial(self._cells, request))
        for event in events:
            if on_event is not None:
                on_event(event)
            if isinstance(event, TableSummary):
                source = Provenance.of(models[-1], request, versions=versions())
                return CheckpointSweep.over(event, source)
        raise AssertionError("a sweep ends with its summary")

    def _load(self, step: int) -> Model:
        """The model of a step, the one before it forgotten."""
        gc.collect()
        return load(str(self.layout.checkpoint(step)), **self._loading)

    def _cells(self, request: SweepRequest, model: ModelDescription) -> CellsOf:
        """Sites; or features, of the run's own dictionary unless the request names one."""
        axis = request.features
        if axis is None:
            return table_cells
        from sonde.sae.of_run import dictionary_of
        from sonde.sae.own_cells import own_cells

        if axis.dictionary is None:
            own, _why_not = dictionary_of(self.layout, axis.layer)
            axis = axis if own is None else axis.model_copy(update={"dictionary": str(own)})
        return own_cells(axis, model)


def chosen_steps(run: str, layout: RunLayout, steps: Sequence[int] | Literal["all"]) -> list[int]:
    """The steps that are meant, each once and in order; every one has to be there."""
    there = steps_of(layout)
    if steps == "all":
        if not there:
            raise BadRequest(f"the run {run!r} has no checkpoint: train with --save-steps")
        return there
    for step in steps:
        CheckpointName(run, step).within(layout)
    return sorted(set(steps))


def checkpoints(
    run: str | Path, steps: Sequence[int] | Literal["all"] = "all", **loading: Any
) -> Checkpoints:
    """The checkpoints of a run, to be swept one after the other; `loading` as in `sonde.load`."""
    return Checkpoints(run, steps, **loading)
