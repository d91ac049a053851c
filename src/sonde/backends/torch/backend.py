"""The backend protocol over a Hugging Face model in this process."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import get_args

import torch
from transformers import PreTrainedModel

from sonde.backends.base import (
    Cost,
    GeneratedToken,
    GenerateRequest,
    Mixture,
    Quantity,
    Readout,
    Scores,
    Site,
    Slope,
    Vector,
    Work,
    Write,
)
from sonde.backends.check import (
    check_apart,
    check_completion_writes,
    check_sampling,
    check_side_by_side,
    check_sites,
    check_tokens,
    check_writes,
)
from sonde.backends.check_heads import check_head
from sonde.backends.edit import Edit, Sampled
from sonde.backends.spots import runs_in
from sonde.backends.torch.cpu import instruction_sets
from sonde.backends.torch.edges.scoring import Edges
from sonde.backends.torch.generate import generate
from sonde.backends.torch.gradient.linear import Linear
from sonde.backends.torch.loading.checkpoint import refuse_non_finite
from sonde.backends.torch.loading.description import described
from sonde.backends.torch.loading.loaded import Loaded
from sonde.backends.torch.loading.weights import WatchedWeights
from sonde.backends.torch.mixing.mixtures import Mixtures
from sonde.backends.torch.packed import scoring
from sonde.backends.torch.packed.memory import (
    default_bytes,
)
from sonde.backends.torch.packed.scorer import Scorer
from sonde.backends.torch.packed.sources import CapturedRun, gather, keep
from sonde.backends.torch.packed.traces import Traces
from sonde.backends.torch.path import Path, choose_path
from sonde.backends.torch.reading import Reader
from sonde.backends.torch.side_by_side import side_by_side
from sonde.backends.torch.text import TokenVerbs
from sonde.errors import BadRequest, HookNeverFired, WeightsChanged
from sonde.prompts import prompt_digest
from sonde.schema import Hook, ModelDescription, SourceRun
from sonde.store.source_runs import Contents, Handle, SourceRuns


class TorchBackend(TokenVerbs):
    """A model loaded into this process, read from and written to."""

    def __init__(
        self,
        loaded: Loaded,
        *,
        memory_budget: int | None = None,
        source_budget: int = 2 * 2**30,
        compile_layers: bool = False,
        fixed_rows: bool = False,
    ) -> None:
        """`memory_budget` bounds a sweep's working memory, `source_budget` the stored runs."""
        super().__init__(loaded.tokenizer)
        self._loaded = loaded
        self._model = loaded.model
        if self._model.device.type == "cpu":  # a model may come from elsewhere than `load_model`
            instruction_sets.make_safe(low=self._model.dtype != torch.float32)
        self._budget = memory_budget or default_bytes(self._model.device)
        self._choose_path = partial(
            choose_path, loaded.model, compile_layers=compile_layers, fixed_rows=fixed_rows,
            graph_bytes=self._budget // 4,
        )  # fmt: skip
        self._weights = loaded.watched or WatchedWeights(loaded.model, loaded.fingerprint)
        self._runs: SourceRuns[CapturedRun] = SourceRuns(source_budget, setting="source_budget")
        self._traces = Traces(self._budget // 8)
        self._scoring = 0
        self._make()

    def _make(self) -> None:
        """Everything that is made of the weights as they are now."""
        self._made_of = self._weights.notice()
        weights = self._weights.fingerprint
        self.forget()
        self._path: Path = self._choose_path()
        self._description = described(self._loaded, self._path, self.special_tokens, weights)
        self._scorer = Scorer(
            self._path, self._description, self._traces, self._budget, self._reader
        )

    def _current(self) -> Path:
        """The path, made again when the weights are others than it was made of."""
        if self._model.training:
            raise BadRequest("the model is in training mode, where passes differ: call its eval()")
        # While a GPU scores rows, reading samples would wait for all of it; its own end reads them.
        if self._weights.notice(samples=not self._scoring or self._path.on_cpu) != self._made_of:
            refuse_non_finite(self._model.named_parameters())
            self._make()
        self._path.attend()
        return self._path

    def _check_same(self, revision: int, *, samples: bool = True) -> None:
        """Refuse to go on with weights that changed since `revision`."""
        before = self._description.weights
        if self._weights.notice(samples=samples) != revision:
            raise WeightsChanged(before, self._weights.fingerprint)

    def describe(self) -> ModelDescription:
        """What is loaded, and what it supports.

        Of its weights, writes that torch counts are seen at once, others at the next run: reading
        them here could wait for what is running on the device.
        """
        self._weights.notice(samples=False)
        known, weights = self._description, self._weights.fingerprint
        return known if known.weights == weights else known.model_copy(update={"weights": weights})

    def quantities(self) -> Sequence[Quantity]:
        """What it can tell of a row: everything there is."""
        return get_args(Quantity)

    @property
    def model(self) -> PreTrainedModel:
        """The model itself. Writes to it are noticed; see `loading/weights`."""
        return self._model

    @property
    def directory(self) -> str:
        """Where the model was loaded from."""
        return str(self._model.name_or_path)

    @property
    def reader(self) -> Reader:
        """Runs many prompts at once, unpatched: their activations and their cross-entropy."""
        return Reader(self._current, self._loaded.tokenizer)

    def prepare(self, prompts: Sequence[Sequence[int]], hooks: Sequence[Hook]) -> None:
        """Run prompts side by side, so that the weights are read once for all of them."""
        self._current()
        self._scorer.prepare(prompts, hooks)

    def forget(self) -> None:
        """Drop the unpatched runs kept for the next call."""
        self._traces.clear()

    def baselines(
        self, asked: Sequence[tuple[Sequence[int], Readout]], hooks: Sequence[Hook]
    ) -> list[list[float]]:
        """The readout of each unpatched prompt."""
        self._current()
        return self._scorer.baselines(asked, hooks)

    def cost(self, work: Iterable[Work]) -> Cost:
        """What scoring would take, without doing it. Sources are not looked at."""
        self._current()
        return self._scorer.cost(map(self._edges().reckoned, work))

    def capture(
        self,
        run: str,
        tokens: Sequence[int],
        hooks: Sequence[Hook],
        layers: Sequence[int],
        positions: Sequence[int],
    ) -> SourceRun:
        """Run the prompt once and keep its activations under `run`, replacing that run whole."""
        description = self._description
        check_tokens(tokens, description)
        check_sites(hooks, layers, positions, description, len(tokens))
        if not (hooks and layers and positions):
            raise BadRequest("nothing to capture: name at least one hook, layer and position")
        width = sum(description.hook_width(hook, len(tokens)) for hook in hooks)
        self._runs.check(run, self._model.dtype.itemsize * width * len(layers) * len(positions))
        self.prepare([tokens], hooks)
        held = keep(self._traces[tuple(tokens)], hooks, layers, positions)
        contents = Contents(
            prompt_digest(tokens), len(tokens), tuple(hooks), tuple(layers), tuple(positions),
            held.nbytes(), self._description.weights,
        )  # fmt: skip
        self._runs.put(run, contents, held)
        return self._runs.manifests()[run]

    def read(self, run: str, sites: Sequence[Site]) -> list[Vector]:
        """Activations of a stored run, one array [positions, width] a site, in float32."""
        self._current()
        weights = self._description.weights
        for site in sites:
            if site.head is not None:
                check_head(site.hook, site.head, self._description)
        held = self._runs.read(self._runs.find(run, weights=weights), weights=weights)
        return [held.read(run, site) for site in sites]

    def manifests(self) -> dict[str, SourceRun]:
        """The stored runs, by name."""
        return self._runs.manifests()

    def source_budget(self) -> int:
        """Bytes that all stored runs together may take."""
        return self._runs.budget_bytes

    def lease(self, run: str, holder: str) -> bool:
        """Protect a run from eviction for the store's TTL; False when there is no such run."""
        return self._runs.lease(run, holder)

    def release(self, run: str, holder: str) -> bool:
        """Give that holder's lease back."""
        return self._runs.release(run, holder)

    def drop(self, run: str, generation: int | None = None) -> bool:
        """Forget a run, leased or not; False when there is no such run."""
        if generation is None:
            return self._runs.drop(run)
        return self._runs.give_up(Handle(run, generation))

    def score(self, work: Iterable[Work]) -> Iterator[Scores]:
        """The readout of every row of every prompt; rows of several share chunks."""
        self._current()
        revision = self._made_of
        self._scoring += 1
        try:
            for scores in self._edges().score(work, self._scorer.score):
                self._check_same(revision, samples=False)
                yield scores
        finally:
            self._scoring -= 1
        self._check_same(revision)

    def linearise(self, asked: Iterable[Slope]) -> Iterator[Scores]:
        """How far every row moves each of its sums, to first order."""
        path, revision = self._current(), self._made_of
        linear = Linear(path, self._description, self._traces, self._reader)
        for scores in linear.linearise(asked):
            self._check_same(revision)
            yield scores

    def mix(self, asked: Iterable[Mixture]) -> Iterator[Scores]:
        """The readout of every circuit of every pair of prompts."""
        path, revision = self._current(), self._made_of
        for scores in Mixtures(path, self._description, self._scorer.distribution).mix(asked):
            self._check_same(revision)
            yield scores

    def generate(self, request: GenerateRequest) -> Iterator[GeneratedToken]:
        """Tokens as they come; closing the iterator stops. Unreached patches raise at the end."""
        path, revision, description = self._current(), self._made_of, self._description
        check_sampling(request, description)
        check_tokens(request.tokens, description, room=request.max_tokens)
        beyond = len(request.tokens) + request.max_tokens - 1
        check_writes(request.writes, description, beyond)
        check_apart(request.writes)
        check_completion_writes(request.writes)
        path, revision = self._current(), self._made_of
        some, runs = request.writes, self._reader(request.writes)
        like = self._model.get_input_embeddings().weight
        sources = gather(some, runs(scoring.run_names(some)), like[:1])
        count = 0
        for token in generate(path, request, sources):
            count += 1
            yield token
        self._check_same(revision)
        last = len(request.tokens) + count - 2
        unreached = [p for write in some for p in write.site.positions if p > last]
        if unreached:
            raise HookNeverFired(
                f"generation ended after {count} tokens, before position {unreached[0]} "
                "was computed; the patch there did nothing"
            )

    def _edges(self) -> Edges:
        """What makes rows of edges rows like any other."""
        return Edges(self._path, self._description, self._traces, self._reader)

    def sample(
        self, asked: Sequence[GenerateRequest], edit: Edit | None = None
    ) -> Iterator[list[Sampled]]:
        """Many completions side by side, each with the tokens that `generate` gives it alone."""
        path, revision, description = self._current(), self._made_of, self._description
        check_side_by_side(asked, edit, description)
        writes = [write for request in asked for write in request.writes]
        like, runs = self._model.get_input_embeddings().weight, self._reader(writes)
        sources = gather(writes, runs(scoring.run_names(writes)), like[:1])
        for ended in side_by_side(path, asked, sources, edit, self._budget // 2):
            self._check_same(revision, samples=False)
            yield ended
        self._check_same(revision)

    def _reader(self, writes: Iterable[Write]) -> scoring.Runs:
        """Reads runs by handle, so that one dropped or replaced meanwhile is noticed."""
        weights = self._description.weights
        handles = {
            run: self._runs.find(run, weights=weights) if n is None else Handle(run, n)
            for run, n in runs_in(writes).items()
        }

        def read(names: set[str]) -> Mapping[str, CapturedRun]:
            return {run: self._runs.read(handles[run], weights=weights) for run in names}

        return read
