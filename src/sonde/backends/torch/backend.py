"""The backend protocol over a Hugging Face model in this process."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

import torch

from sonde.backends.base import (
    Cost,
    FromRun,
    GeneratedToken,
    GenerateRequest,
    Patch,
    Row,
    Scores,
)
from sonde.backends.torch import scoring
from sonde.backends.torch.cells import CellPlan, Sources, place, plan_cell
from sonde.backends.torch.check import (
    check_apart,
    check_ids,
    check_patches,
    check_rows,
    check_sampling,
    check_sites,
    check_tokens,
)
from sonde.backends.torch.generate import generate
from sonde.backends.torch.loading.loaded import Loaded
from sonde.backends.torch.memory import (
    ChunkBytes,
    default_bytes,
    largest_chunk,
    measure,
    peak_bytes,
    rough_cell_bytes,
    rough_row_bytes,
)
from sonde.backends.torch.path import Path, choose_path
from sonde.backends.torch.reading import Reader
from sonde.backends.torch.sources import CapturedRun, gather, keep
from sonde.backends.torch.text import TokenVerbs, end_ids
from sonde.backends.torch.threads import one_thread_each
from sonde.backends.torch.trace import INSIDE, Trace
from sonde.errors import BadRequest, HookNeverFired
from sonde.prompts import prompt_digest
from sonde.schema import Hook, ModelDescription, Site, SourceRun
from sonde.store.source_runs import Contents, Handle, SourceRuns

UNLIMITED = 1_000_000
"""Tokens, for models that have no longest prompt, such as recurrent ones."""
KEPT_TRACES = 2
"""Unpatched runs kept for the next call: a sweep needs the clean and the corrupt prompt's."""


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
        self._budget = memory_budget or default_bytes(self._model.device)
        self._path: Path = choose_path(
            loaded.model, compile_layers=compile_layers, fixed_rows=fixed_rows,
            graph_bytes=self._budget // 4,
        )  # fmt: skip
        self._runs: SourceRuns[CapturedRun] = SourceRuns(source_budget, setting="source_budget")
        self._traces: dict[tuple[int, ...], Trace] = {}
        self._graded: dict[tuple[tuple[int, ...], tuple[int, ...]], list[float]] = {}
        """Unpatched prompt and ids -> log-probabilities, for the prompts in `_traces`."""
        self._chunk_bytes: dict[int, ChunkBytes] = {}
        self._rate = self._path.token_layers_per_second

    def describe(self) -> ModelDescription:
        """What is loaded, and what it supports."""
        return self._description

    @cached_property
    def _description(self) -> ModelDescription:
        config = self._model.config.get_text_config()
        return ModelDescription(
            name=self._loaded.name,
            architecture=type(self._model).__name__,
            backend="torch",
            n_layers=len(self._path.layout.sites),
            width=config.hidden_size,
            vocabulary=self._model.get_output_embeddings().weight.shape[0],
            max_tokens=getattr(config, "max_position_embeddings", UNLIMITED),
            hooks=list(self._path.layout.hooks),
            end_ids=end_ids(self._loaded),
            dtype=str(self._model.dtype).removeprefix("torch."),
            device=str(self._model.device),
            weights=self._loaded.fingerprint,
            path=self._path.name,
            path_reason=self._path.reason,
            exact=self._path.exact,
        )

    @property
    def directory(self) -> str:
        """Where the model was loaded from."""
        return str(self._model.name_or_path)

    @property
    def reader(self) -> Reader:
        """Runs many prompts at once, unpatched: their activations and their cross-entropy."""
        return Reader(self._path, self._loaded.tokenizer)

    def prepare(self, prompts: Sequence[Sequence[int]], hooks: Sequence[Hook]) -> None:
        """Run prompts side by side, so that the weights are read once for all of them."""
        for tokens in prompts:
            check_tokens(tokens, self.describe())
        wanted = {tuple(tokens): self._traces.get(tuple(tokens)) for tokens in prompts}
        missing = [t for t, trace in wanted.items() if trace is None or not _has(trace, hooks)]
        if missing:
            traces = self._path.record(missing, hooks)
            self._traces.update(zip(missing, traces, strict=True))
        for old in list(self._traces)[:-KEPT_TRACES]:
            if old not in wanted:
                del self._traces[old]
        self._graded = {key: made for key, made in self._graded.items() if key[0] in self._traces}

    def forget(self) -> None:
        """Drop the unpatched runs kept for the next call."""
        self._traces.clear()
        self._graded.clear()

    def baselines(
        self, prompts: Sequence[Sequence[int]], token_ids: Sequence[int], hooks: Sequence[Hook]
    ) -> list[list[float]]:
        """Log-probabilities of the ids after each unpatched prompt."""
        self.prepare(prompts, hooks)
        keys = [(tuple(tokens), tuple(token_ids)) for tokens in prompts]
        if not all(key in self._graded for key in keys):
            with torch.inference_mode():
                last = torch.stack([self._traces[tokens].last() for tokens, _ in keys])
                graded = self._path.head.logprobs(last, token_ids).double().tolist()
            self._graded.update(zip(keys, graded, strict=True))
        return [self._graded[key] for key in keys]

    def _trace(self, tokens: Sequence[int], hooks: Iterable[Hook]) -> Trace:
        self.prepare([tokens], list(hooks))
        return self._traces[tuple(tokens)]

    def capture(
        self,
        run: str,
        tokens: Sequence[int],
        hooks: Sequence[Hook],
        layers: Sequence[int],
        positions: Sequence[int],
    ) -> SourceRun:
        """Run the prompt once and keep its activations under `run`, replacing that run whole."""
        description = self.describe()
        check_tokens(tokens, description)
        check_sites(hooks, layers, positions, description, len(tokens))
        if not (hooks and layers and positions):
            raise BadRequest("nothing to capture: name at least one hook, layer and position")
        size = self._model.dtype.itemsize * description.width
        self._runs.check(run, size * len(hooks) * len(layers) * len(positions))
        held = keep(self._trace(tokens, hooks), hooks, layers, positions)
        contents = Contents(
            prompt_digest(tokens), len(tokens), tuple(hooks), tuple(layers), tuple(positions),
            held.nbytes(), self._loaded.fingerprint,
        )  # fmt: skip
        self._runs.put(run, contents, held)
        return self._runs.manifests()[run]

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

    def score(
        self, tokens: Sequence[int], rows: Sequence[Row], token_ids: Sequence[int]
    ) -> Iterator[Scores]:
        """Log-probabilities of `token_ids` after the last token, one row per patch set."""
        prompt, reader = self._begin(tokens, rows, token_ids)
        room = max(0, self._budget - self._held()) // self._source_bytes()
        cells = scoring.unsettled(prompt, rows, reader, min(max(room, 16), 4096))
        idle = scoring.settled(rows, cells, self.baselines([tokens], token_ids, [])[0])
        if idle is not None:
            yield idle
        if cells:
            chunks = scoring.chunks(cells, len(tokens), self._fits(prompt))
            yield from self._run_chunks(prompt, rows, chunks, reader)

    def _run_chunks(
        self,
        prompt: scoring.Prompt,
        rows: Sequence[Row],
        chunks: Iterable[list[CellPlan]],
        reader: scoring.Runs,
    ) -> Iterator[Scores]:
        """Chunk by chunk. On a GPU the next is prepared while the last one runs."""
        waiting: scoring.Pending | None = None
        n_tokens = len(prompt.trace.tokens)
        for chunk in chunks:
            began = time.perf_counter()
            for started in scoring.start_or_halve(prompt, rows, chunk, reader):
                if self._model.device.type == "cpu":
                    self._learn_rate(chunk, n_tokens, time.perf_counter() - began)
                    yield started.scores()
                    continue
                if waiting is not None:
                    yield waiting.scores()
                waiting = started
        if waiting is not None:
            yield waiting.scores()

    def cost(self, tokens: Sequence[int], sites: Sequence[Site]) -> Cost:
        """What scoring one patch at each of `sites` would take, without doing it."""
        prompt, _ = self._begin(tokens, [], [0])
        placed = [place(site, 0) for site in sites]
        planned = [
            plan_cell(i, [p], prompt.n_layers, len(tokens), local=prompt.local)
            for i, p in enumerate(placed)
        ]
        cells = [cell for cell in planned if cell is not None]
        work, bytes_of = self._work(cells, len(tokens)), self._chunk_cost(prompt)
        chunks = list(scoring.chunks(cells, len(tokens), self._fits(prompt)))
        sizes = [
            (sum(cell.n_sources for cell in chunk), sum(len(tokens) - cell.first for cell in chunk))
            for chunk in chunks
        ]
        most = max((bytes_of.of(count, rows) for count, rows in sizes), default=0)
        return Cost(len(cells), work, self._held() + most, work / self._rate, len(chunks))

    def generate(self, request: GenerateRequest) -> Iterator[GeneratedToken]:
        """Tokens as they come; closing the iterator stops. Unreached patches raise at the end."""
        description = self.describe()
        check_sampling(request, description)
        check_tokens(request.tokens, description, room=request.max_tokens)
        beyond = len(request.tokens) + request.max_tokens - 1
        check_patches(request.patches, description, beyond)
        check_apart(request.patches)
        reader = self._reader(request.patches)
        like = self._model.get_input_embeddings().weight
        sources = gather(request.patches, reader(scoring.run_names(request.patches)), like[:1])
        count = 0
        for token in generate(self._path, request, sources):
            count += 1
            yield token
        last = len(request.tokens) + count - 2
        unreached = [patch for patch in request.patches if patch.position > last]
        if unreached:
            raise HookNeverFired(
                f"generation ended after {count} tokens, before position {unreached[0].position} "
                "was computed; the patch there did nothing"
            )

    def _begin(
        self, tokens: Sequence[int], rows: Sequence[Row], token_ids: Sequence[int]
    ) -> tuple[scoring.Prompt, scoring.Runs]:
        """Check everything, then run the prompt: what scoring needs."""
        description = self.describe()
        check_tokens(tokens, description)
        check_ids(token_ids, description)
        check_rows(rows, description, len(tokens))
        patches = [patch for row in rows for patch in row.patches]
        trace = self._trace(tokens, {patch.hook for patch in patches})
        prompt = scoring.Prompt(
            trace,
            description.n_layers,
            self._path.start,
            partial(self._path.head.logprobs, token_ids=token_ids),
            self._path.local,
        )
        return prompt, self._reader(patches)

    def _reader(self, patches: Sequence[Patch]) -> scoring.Runs:
        """Reads runs by handle, so that one dropped or replaced meanwhile is noticed."""
        weights = self._loaded.fingerprint
        sources = {p.source for p in patches if isinstance(p.source, FromRun)}
        meant = {source.run: source.generation for source in sources}
        handles = {
            run: self._runs.find(run, weights=weights) if n is None else Handle(run, n)
            for run, n in meant.items()
        }

        def read(names: set[str]) -> Mapping[str, CapturedRun]:
            return {run: self._runs.read(handles[run], weights=weights) for run in names}

        return read

    def _fits(self, prompt: scoring.Prompt) -> scoring.Fits:
        held = self._held()
        most, n_tokens = self._path.shape.most, len(prompt.trace.tokens)
        if held + most * self._rough_bytes(prompt.trace) < self._budget:
            return lambda _cells, rows: rows <= most
        return largest_chunk(self._chunk_cost(prompt), self._budget, held, most, n_tokens)

    def _rough_bytes(self, trace: Trace) -> float:
        """More than one row of a chunk needs, when every row is a cell of its own."""
        if self._path.name != "packed":  # recurrent layers keep more than their weights tell
            return float("inf")
        heads = self._model.config.get_text_config().num_attention_heads
        per_row = rough_row_bytes(self._path.layout.sites[0].layer)
        return 2 * per_row + rough_cell_bytes(trace.keys_values[0].keys, heads, len(trace.tokens))

    def _chunk_cost(self, prompt: scoring.Prompt) -> ChunkBytes:
        n_tokens = len(prompt.trace.tokens)
        if n_tokens not in self._chunk_bytes:
            run = partial(self._peak_of_chunk, prompt)
            self._chunk_bytes[n_tokens] = measure(run, n_tokens, self._path.shape.multiple)
        return self._chunk_bytes[n_tokens]

    def _peak_of_chunk(self, prompt: scoring.Prompt, cells: int, first: int) -> int:
        """Peak memory of cells with suffixes from `first`."""
        enters = max(prompt.n_layers - 2, 0) if self._path.name == "packed" else 0
        plans = [CellPlan(i, (), first, enters, ()) for i in range(cells)]
        nothing = Sources(prompt.trace.residuals[0, :0], None)
        path = replace(self._path, graphs=None)
        with torch.inference_mode(), one_thread_each():  # what other threads do is out of sight
            batch = peak_bytes(
                lambda: path.start(prompt.trace, plans, nothing).final(), self._model.device
            )
            final = prompt.trace.last().repeat(cells, 1)
            graded = peak_bytes(lambda: prompt.grade(final), self._model.device)
        return batch + graded + cells * self._source_bytes()

    def _source_bytes(self) -> int:
        """What one patch's source takes while it is gathered, weighed and written."""
        width: int = self._model.config.get_text_config().hidden_size
        return 6 * 4 * width

    def _held(self) -> int:
        """Bytes of the unpatched runs."""
        captured = 0 if self._path.graphs is None else self._path.graphs.nbytes()
        return captured + sum(trace.nbytes() for trace in self._traces.values())

    def _work(self, cells: Sequence[CellPlan], n_tokens: int) -> int:
        return sum(cell.token_layers(len(self._path.layout.sites), n_tokens) for cell in cells)

    def _learn_rate(self, chunk: Sequence[CellPlan], n_tokens: int, seconds: float) -> None:
        """Remember how fast this machine is, for the next estimate."""
        work = self._work(chunk, n_tokens)
        if work > 1000:
            self._rate = 0.5 * self._rate + 0.5 * work / seconds


def _has(trace: Trace, hooks: Iterable[Hook]) -> bool:
    return all(hook in trace.inside for hook in hooks if hook in INSIDE)
