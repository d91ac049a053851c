"""A loaded model, as people use it from Python.

model = sonde.load("smollm2")
result = model.sweep(clean="The Eiffel Tower is in the city of",
                     corrupt="The Colosseum is in the city of", answer=" Paris")

This is a thin face over `backends` and `engine`: it turns plain arguments into the same request
that clients of the server send, and runs it through the same engine.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike, fspath
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from sonde.backends.base import Backend, GenerateRequest, Write
from sonde.engine import Limits, NamedVectors, estimate, sweep
from sonde.engine.attention import attend
from sonde.engine.circuits import evaluate
from sonde.engine.edges import table_cells
from sonde.engine.sites import CellsOf
from sonde.engine.tables import estimate_table, sweep_table
from sonde.errors import BadRequest
from sonde.request import (
    Answers,
    Places,
    Request,
    attention_request,
    attribute_options,
    sweep_request,
)
from sonde.results import Attention, PairSweep, Provenance, Sweep, result_of
from sonde.results.circuit import OnCircuit, finished
from sonde.results.provenance import versions
from sonde.schema import (
    Estimate,
    Hook,
    Layers,
    ModelDescription,
    PatchSweepRequest,
    SourceRun,
    Summary,
    SweepEvent,
)
from sonde.schema.attention import AttentionRequest, HeadScore
from sonde.schema.circuit import CircuitEvaluation, CircuitRequest
from sonde.schema.pair import PromptPair
from sonde.schema.table import SweepRequest, TableEvent, TableMetric, TableSummary

OnEvent = Callable[[SweepEvent | TableEvent], None]


class Model:
    """A model that can be swept, captured from and generated with."""

    def __init__(
        self, backend: Backend, *, vectors: NamedVectors | None = None, limits: Limits | None = None
    ) -> None:
        """`vectors` are named vectors that sweeps may use as their source."""
        self.backend = backend
        self.vectors = dict(vectors or {})
        self.limits = limits or Limits()

    def describe(self) -> ModelDescription:
        """What is loaded, and what it supports."""
        return self.backend.describe()

    @overload
    def sweep(
        self,
        *,
        pairs: Iterable[PromptPair],
        hooks: Sequence[str] | str = ("post_block",),
        layers: Layers | Iterable[int] | str | None = None,
        positions: Places | None = None,
        metric: TableMetric | None = None,
        on_event: OnEvent | None = None,
        **options: Any,
    ) -> PairSweep: ...
    @overload
    def sweep(
        self,
        *,
        corrupt: str,
        answer: Answers,
        clean: str | None = None,
        foil: Answers | None = None,
        hooks: Sequence[str] | str = ("post_block",),
        layers: Layers | Iterable[int] | str | None = None,
        positions: Places | None = None,
        metric: TableMetric | None = None,
        on_event: OnEvent | None = None,
        **options: Any,
    ) -> Sweep: ...
    def sweep(
        self,
        *,
        corrupt: str | None = None,
        answer: Answers | None = None,
        clean: str | None = None,
        foil: Answers | None = None,
        pairs: Iterable[PromptPair] | None = None,
        hooks: Sequence[str] | str = ("post_block",),
        layers: Layers | Iterable[int] | str | None = None,
        positions: Places | None = None,
        metric: TableMetric | None = None,
        on_event: OnEvent | None = None,
        **options: Any,
    ) -> Sweep:
        """Write at every site of a grid and return what came out: `logprob`, or another metric.

        An answer may have several tokens, and there may be several, as there may be foils.
        `positions="together"` writes at all of them in one row, so that the grid is one of layers;
        at hooks of heads (`z`, `q`, `k`, `v`, `pattern`) one of layers by heads.

        `pairs` are many prompt pairs instead of one: positions are then roles, `"subject_last"` or
        all of them, `"roles"`, and the result has an interval and a p for every cell.

        `features=Features(layer=15)` has the features of a dictionary as rows, each patched from
        the clean prompt; or removed, or clamped.

        `method="attribution"` scores all cells to first order and runs some to verify them (see
        `attribute`), `"adaptive"` finds the `verify` strongest and runs no more than that takes.

        `options` are further fields of `SweepRequest`: `heads`, `kv`, `source`, `reference`,
        `mean_over`, `seed`, `alpha`, `metrics`, `pairing`, `source_run`. Those of
        `PatchSweepRequest` that it lacks (`mask`, `source_module`, `source_inline`,
        `patch_vectors`, `source_positions`, `clean_baseline`, `keep_source`) make it a classic
        sweep; its `recovered` is of the log-probability also where there is a foil.
        """
        request = self.request(
            corrupt=corrupt, answer=answer, clean=clean, foil=foil, pairs=pairs, hooks=hooks,
            layers=layers, positions=positions, metric=metric, **options,
        )  # fmt: skip
        return self.run(request, on_event=on_event)

    def attribute(
        self,
        *,
        targets: Literal["nodes", "edges"] = "nodes",
        method: Literal["atp", "eap", "eap-ig"] | None = None,
        steps: int = 5,
        verify: int = 200,
        sample: int = 200,
        hooks: Sequence[str] | str | None = None,
        positions: Places | None = "together",
        metric: TableMetric = "logit_diff",
        on_event: OnEvent | None = None,
        **asked: Any,
    ) -> Sweep:
        """Score every node to first order, and run the strongest and a random sample to verify it.

        `result.scores` has the scores, `result.verification` what exact runs say of them. Nodes are
        heads (`z`) and MLPs (`mlp_out`), each at all positions together, unless told otherwise:
        `hooks`, `layers`, `heads` and `positions` are those of `sweep`, as are the prompts.

        `targets="edges"` scores every edge instead, from each sender to each receiver after it;
        `senders` and `receivers` name some of them. `result.edges(200)` lists the strongest.

        `method` is where the gradient is taken: `atp`, of edges called `eap`, at the prompt that is
        written to; `eap-ig` the mean over `steps` points on the way to the other prompt's
        embeddings.
        """
        options = attribute_options(targets, method, self.describe().hooks, hooks, asked)
        request = self.request(
            method="attribution", steps=steps, verify=verify, sample=sample,
            positions=positions, metric=metric, **options,
        )  # fmt: skip
        return self.run(request, on_event=on_event)

    def request(
        self,
        *,
        corrupt: str | None = None,
        answer: Answers | None = None,
        clean: str | None = None,
        foil: Answers | None = None,
        pairs: Iterable[PromptPair] | None = None,
        hooks: Sequence[str] | str = ("post_block",),
        layers: Layers | Iterable[int] | str | None = None,
        positions: Places | None = None,
        metric: TableMetric | None = None,
        **options: Any,
    ) -> Request:
        """The request that `sweep` would run: what a server would be sent."""
        return sweep_request(
            corrupt=corrupt, answer=answer, clean=clean, foil=foil, pairs=pairs, hooks=hooks,
            layers=layers, positions=positions, metric=metric, **options,
            n_layers=self.describe().n_layers,
        )  # fmt: skip

    def run(
        self,
        request: Request,
        *,
        on_event: OnEvent | None = None,
        cells_of: CellsOf | None = None,
    ) -> Sweep:
        """Run a request to its end. `cells_of` lays out axes that are not sites."""
        for event in self.events(request, cells_of=cells_of):
            if on_event is not None:
                on_event(event)
            if isinstance(event, Summary | TableSummary):
                source = Provenance.of(self.describe(), request, versions=versions())
                pattern = partial(self._pattern, source.weights)
                if isinstance(event, Summary):
                    return Sweep.of(event, source, pattern)
                found = result_of(event, source)
                found = replace(found, runs_in=self)
                return found if isinstance(found, PairSweep) else replace(found, attend=pattern)
        raise AssertionError("a sweep ends with its summary")

    def events(
        self, request: Request, *, cells_of: CellsOf | None = None
    ) -> Iterator[SweepEvent] | Iterator[TableEvent]:
        """Run a request, event by event; closing the iterator stops it."""
        if isinstance(request, PatchSweepRequest):
            return sweep(self.backend, request, modules=self.vectors, limits=self.limits)
        laid_out = cells_of or self._cells_of(request)
        return sweep_table(self.backend, request, limits=self.limits, cells_of=laid_out)

    def estimate(self, request: Request, *, cells_of: CellsOf | None = None) -> Estimate:
        """What a request would cost."""
        if isinstance(request, PatchSweepRequest):
            return estimate(self.backend, request, modules=self.vectors, limits=self.limits)
        laid_out = cells_of or self._cells_of(request)
        return estimate_table(self.backend, request, limits=self.limits, cells_of=laid_out)

    def _cells_of(self, request: SweepRequest) -> CellsOf:
        """Sites; or features, of the dictionary that the request names."""
        if request.features is None:
            return table_cells
        from sonde.sae.own_cells import own_cells

        return own_cells(request.features, self.describe())

    def evaluate(
        self, request: CircuitRequest, *, on_event: OnCircuit | None = None
    ) -> CircuitEvaluation:
        """How much of the model a circuit is; `Circuit.evaluate` asks it in plain arguments."""
        found = finished(evaluate(self.backend, request, limits=self.limits), on_event)
        source = Provenance.of(self.describe(), request, versions=versions())
        return found.model_copy(update={"provenance": source})

    def capture(
        self,
        run: str,
        prompt: str,
        *,
        hooks: Sequence[Hook] | None = None,
        layers: Sequence[int] | None = None,
        positions: Sequence[int] | None = None,
    ) -> SourceRun:
        """Run a prompt once and keep its activations as a source run."""
        model, tokens = self.describe(), self.backend.tokenize(prompt)
        return self.backend.capture(
            run,
            tokens,
            model.layer_hooks if hooks is None else hooks,
            range(model.n_layers) if layers is None else layers,
            range(len(tokens)) if positions is None else positions,
        )

    def attention(
        self,
        prompt: str | Sequence[int],
        *,
        layers: Layers | Iterable[int] | int | None = None,
        heads: Iterable[int] | int | None = None,
    ) -> NDArray[np.float32]:
        """What heads attend to: [layers, heads, T, T], the weight of every position for each key.

        All layers and all heads, unless some are named.
        """
        found = self.attend(attention_request(prompt, layers=layers, heads=heads)).patterns
        assert found is not None
        return found

    def head_scores(
        self,
        prompt: str | Sequence[int] | None = None,
        *,
        repeated: int | None = None,
        seed: int = 0,
        layers: Layers | Iterable[int] | int | None = None,
    ) -> dict[HeadScore, NDArray[np.float64]]:
        """How far each head attends to the token before, to the same one, or to what followed it.

        `previous`, `duplicate` and `induction`, [layers, heads] each, of a prompt; or of so many
        random tokens, `repeated` once. NaN where the prompt has no such keys.
        """
        found = self.attend(
            attention_request(prompt, layers=layers, repeated=repeated, seed=seed, scores=True)
        ).scores
        assert found is not None
        return found

    def attend(self, request: AttentionRequest) -> Attention:
        """Run a request for attention, with everything that a file or a picture of it needs."""
        found = attend(self.backend, request, self.limits)
        return Attention(
            [self.backend.detokenize([token]) for token in found.tokens],
            found.tokens,
            found.layers,
            found.heads,
            found.patterns,
            None if found.scores is None else dict(found.scores),
            Provenance.of(self.describe(), request, versions=versions()),
        )

    def _pattern(
        self, weights: str, prompt: str | list[int], layer: int, head: int
    ) -> NDArray[np.float32]:
        """One pattern, under the weights that a result was made with."""
        found: NDArray[np.float32] = self.attention(prompt, layers=[layer], heads=[head])[0, 0]
        now = self.describe().weights
        if now != weights:
            raise BadRequest(
                f"the result was made with weights {weights}, and {now} are loaded; run the sweep "
                "again"
            )
        return found

    def generate(
        self,
        prompt: str,
        *,
        max_tokens: int = 16,
        writes: Sequence[Write] = (),
        temperature: float = 0.0,
        seed: int = 0,
    ) -> str:
        """Complete a prompt, greedily unless a temperature is given."""
        request = GenerateRequest(
            tuple(self.backend.tokenize(prompt)),
            max_tokens=max_tokens,
            writes=tuple(writes),
            temperature=temperature,
            seed=seed,
        )
        return self.backend.detokenize([made.token for made in self.backend.generate(request)])


def load(
    name: str | PathLike[str] = "smollm2",
    *,
    dtype: str | None = None,
    device: str | None = None,
    memory_budget: int | None = None,
    source_budget: int = 2 * 2**30,
    compile_layers: bool = False,
    fixed_rows: bool = False,
    backend: Literal["torch", "vllm"] = "torch",
    tensor_parallel_size: int = 1,
    pipeline_parallel_size: int = 1,
    engine_options: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Model:
    """Load a model by alias, Hugging Face id, directory, adapter directory or GGUF file.

    load("smollm2")                               # the default: 135M parameters, CPU
    load("runs/p5/checkpoint-50")                 # a training checkpoint, adapter merged
    load("Qwen/Qwen3-8B", dtype="bfloat16", device="cuda", memory_budget=20 * 2**30)

    `memory_budget` bounds a sweep's own work in bytes, `source_budget` the stored source runs.
    On a GPU `compile_layers` is faster after some seconds of compiling, and `fixed_rows` gives a
    cell the same bits however it is batched, at about half the speed; a CPU gives them anyway.
    `backend="vllm"` loads it into a vLLM engine instead, over so many ranks; `engine_options` are
    passed to that engine, and `memory_budget`, `device` and the two above are not for it.
    """
    name = fspath(name)
    if backend == "vllm":
        from sonde.backends.vllm.load import load_backend

        if device is not None or memory_budget is not None or compile_layers or fixed_rows:
            raise BadRequest(
                "device, memory_budget, compile_layers and fixed_rows belong to backend='torch'; "
                "give the vLLM engine its own settings as engine_options"
            )
        made = load_backend(
            name, dtype=dtype, source_budget=source_budget, options=engine_options,
            tensor_parallel_size=tensor_parallel_size,
            pipeline_parallel_size=pipeline_parallel_size, progress=progress,
        )  # fmt: skip
        return Model(made)
    if tensor_parallel_size != 1 or pipeline_parallel_size != 1 or engine_options:
        raise BadRequest("several ranks and engine_options need backend='vllm'")
    from sonde.backends.torch.backend import TorchBackend
    from sonde.backends.torch.loading.load import load_model

    loaded = load_model(name, dtype=dtype, device=device, progress=progress)
    model = TorchBackend(
        loaded, memory_budget=memory_budget, source_budget=source_budget,
        compile_layers=compile_layers, fixed_rows=fixed_rows,
    )  # fmt: skip
    return Model(model)
