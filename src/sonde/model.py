"""A loaded model, as people use it from Python.

model = sonde.load("smollm2")
result = model.sweep(clean="The Eiffel Tower is in the city of",
                     corrupt="The Colosseum is in the city of", answer=" Paris")

This is a thin face over `backends` and `engine`: it turns plain arguments into the same request
that clients of the server send, and runs it through the same engine.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal

from pydantic import ValidationError

from sonde.backends.base import Backend, GenerateRequest, Patch
from sonde.engine import Limits, NamedVectors, estimate, sweep
from sonde.errors import BadRequest
from sonde.prompts import Span
from sonde.results import Provenance, Sweep
from sonde.schema import (
    Estimate,
    Hook,
    LayerRange,
    Layers,
    Metric,
    ModelDescription,
    PatchSweepRequest,
    Position,
    Positions,
    SourceRun,
    Summary,
    SweepEvent,
)

Places = Sequence[int | str | Span] | str
"""Positions in Python: numbers, spans, words (taken as spans), or "all"."""


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

    def sweep(
        self,
        *,
        corrupt: str,
        answer: str | int,
        clean: str | None = None,
        foil: str | int | None = None,
        hooks: Sequence[str] | str = ("post_block",),
        layers: Layers | Iterable[int] | None = None,
        positions: Places = "all",
        metric: Metric = "logprob",
        on_event: Callable[[SweepEvent], None] | None = None,
        **options: Any,
    ) -> Sweep:
        """Patch every site of a grid and return what came out.

        `options` are further fields of `PatchSweepRequest`: `alpha`, `mask`, `metrics`, `pairing`,
        `source_run`, `keep_source`, `source_module`, `source_inline`, `patch_vectors`, …
        """
        request = self.request(
            corrupt=corrupt, answer=answer, clean=clean, foil=foil, hooks=hooks, layers=layers,
            positions=positions, metric=metric, **options,
        )  # fmt: skip
        return self.run(request, on_event=on_event)

    def request(
        self,
        *,
        corrupt: str,
        answer: str | int,
        clean: str | None = None,
        foil: str | int | None = None,
        hooks: Sequence[str] | str = ("post_block",),
        layers: Layers | Iterable[int] | None = None,
        positions: Places = "all",
        metric: Metric = "logprob",
        **options: Any,
    ) -> PatchSweepRequest:
        """The request that `sweep` would run: what a server would be sent."""
        return sweep_request(
            corrupt=corrupt,
            answer=answer,
            clean=clean,
            foil=foil,
            hooks=hooks,
            layers=range(self.describe().n_layers) if layers is None else layers,
            positions=positions,
            metric=metric,
            **options,
        )

    def run(
        self, request: PatchSweepRequest, *, on_event: Callable[[SweepEvent], None] | None = None
    ) -> Sweep:
        """Run a request to its end."""
        for event in self.events(request):
            if on_event is not None:
                on_event(event)
            if isinstance(event, Summary):
                return Sweep(event, Provenance.of(self.describe(), request, versions=versions()))
        raise AssertionError("a sweep ends with its summary")

    def events(self, request: PatchSweepRequest) -> Iterator[SweepEvent]:
        """Run a request, event by event; closing the iterator stops it."""
        return sweep(self.backend, request, modules=self.vectors, limits=self.limits)

    def estimate(self, request: PatchSweepRequest) -> Estimate:
        """What a request would cost."""
        return estimate(self.backend, request, modules=self.vectors, limits=self.limits)

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
            model.hooks if hooks is None else hooks,
            range(model.n_layers) if layers is None else layers,
            range(len(tokens)) if positions is None else positions,
        )

    def generate(
        self,
        prompt: str,
        *,
        max_tokens: int = 16,
        patches: Sequence[Patch] = (),
        temperature: float = 0.0,
        seed: int = 0,
    ) -> str:
        """Complete a prompt, greedily unless a temperature is given."""
        request = GenerateRequest(
            tuple(self.backend.tokenize(prompt)),
            max_tokens=max_tokens,
            patches=tuple(patches),
            temperature=temperature,
            seed=seed,
        )
        return self.backend.detokenize([made.token for made in self.backend.generate(request)])


def sweep_request(
    *,
    corrupt: str,
    answer: str | int,
    layers: Layers | Iterable[int],
    clean: str | None = None,
    foil: str | int | None = None,
    hooks: Sequence[str] | str = ("post_block",),
    positions: Places = "all",
    metric: Metric = "logprob",
    **options: Any,
) -> PatchSweepRequest:
    """Plain arguments as a request, for a model that is loaded here or on a server."""
    unknown = sorted(set(options) - set(PatchSweepRequest.model_fields))
    if unknown:
        raise BadRequest(f"sweep() takes no {unknown[0]!r}; see PatchSweepRequest's fields")
    vector = options.get("source_module") is not None or options.get("source_inline") is not None
    if "source_run" not in options and not vector:
        options["source_run"] = f"run-{uuid.uuid4().hex[:12]}"
    try:
        return PatchSweepRequest(
            prompt=corrupt,
            clean_prompt=clean,
            hooks=[hooks] if isinstance(hooks, str) else list(hooks),
            layers=_layers(layers),
            positions=_positions(positions),
            metric=metric,
            **_token("answer", answer),
            **({} if foil is None else _token("foil", foil)),
            **options,
        )
    except ValidationError as error:
        raise BadRequest(_one_line(error)) from error


def load(
    name: str = "smollm2",
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
    cell the same bits in any company, at about half the speed; a CPU gives them anyway.

    `backend="vllm"` loads it into a vLLM engine instead, over so many ranks; `engine_options` are
    passed to that engine, and `memory_budget`, `device` and the two above are not for it.
    """
    if backend == "vllm":
        from sonde.backends.vllm.load import load_backend

        if device is not None or memory_budget is not None or compile_layers or fixed_rows:
            raise BadRequest(
                "device, memory_budget, compile_layers and fixed_rows belong to backend='torch'; "
                "give the vLLM engine its own settings as engine_options"
            )
        return Model(
            load_backend(
                name,
                dtype=dtype,
                source_budget=source_budget,
                tensor_parallel_size=tensor_parallel_size,
                pipeline_parallel_size=pipeline_parallel_size,
                options=engine_options,
                progress=progress,
            )
        )
    if tensor_parallel_size != 1 or pipeline_parallel_size != 1 or engine_options:
        raise BadRequest("several ranks and engine_options need backend='vllm'")
    from sonde.backends.torch.backend import TorchBackend
    from sonde.backends.torch.loading.load import load_model

    loaded = load_model(name, dtype=dtype, device=device, progress=progress)
    model = TorchBackend(
        loaded,
        memory_budget=memory_budget,
        source_budget=source_budget,
        compile_layers=compile_layers,
        fixed_rows=fixed_rows,
    )
    return Model(model)


@cache
def versions() -> dict[str, str]:
    """Versions of what a result depends on; read once, which takes milliseconds."""
    from importlib.metadata import version

    return {name: version(name) for name in ("sonde", "torch", "transformers")}


def _token(name: str, value: str | int) -> dict[str, Any]:
    return {f"{name}_token_id" if isinstance(value, int) else f"{name}_token": value}


def _layers(layers: Layers | Iterable[int]) -> Any:
    return layers if isinstance(layers, LayerRange) else list(layers)


def _one_line(error: ValidationError) -> str:
    """The first thing wrong with a request: the field, what is wanted there, and what it was."""
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"][:1])
    return f"{field}: {first['msg']}; it was {first['input']!r}"


def _positions(positions: Places) -> Positions:
    """Words become spans; "all" becomes the wire's word for it."""
    if isinstance(positions, str):
        return "all_prompt" if positions in ("all", "all_prompt") else [Span(positions).to_wire()]
    out: list[Position] = []
    for place in positions:
        if isinstance(place, str):
            place = Span(place)
        out.append(place.to_wire() if isinstance(place, Span) else place)
    return out
