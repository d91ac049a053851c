"""The parts of a sweep that come before its cells: align, baseline, capture, sources.

Each is a function of the plan and the backend, so that `estimate` can take some of them and leave
out those that run or keep anything. Errors of the backend are told apart here: what a prompt is to
blame for, what the store refuses, and what means that nothing more will work.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sonde.backends.base import (
    Backend,
    FromRun,
    FromVector,
    MeanOf,
    Source,
    Vector,
    Write,
    logprobs_of,
    write_at,
)
from sonde.engine.plan import CheckedRequest, classic_hooks
from sonde.engine.vectors import NamedVectors, mask_vector, row, unpack
from sonde.errors import (
    BadRequest,
    BaselineFailed,
    CaptureFailed,
    EngineError,
    EngineLost,
    NothingToPatch,
    RequestTooLarge,
    SondeError,
    StaleSourceRun,
    UnknownSourceRun,
)
from sonde.prompts import (
    Matching,
    align,
    expand_positions,
    pair_explicitly,
    prompt_digest,
    resolve_positions,
)
from sonde.schema import Hook, Position, Positions, Skipped, SourceRun


def baselines(
    backend: Backend, plan: CheckedRequest, corrupt: Sequence[int], clean: Sequence[int] | None
) -> tuple[list[float], list[float] | None]:
    """The corrupt prompt, unpatched: the zero of the scale (contract check 17).

    With a clean prompt that is about to be captured, that one too, in the same pass.
    """
    readout, hooks = logprobs_of(plan.token_ids), plan.hooks
    try:
        if clean is not None and all(_fit(tokens, plan) for tokens in (corrupt, clean)):
            both = backend.baselines(
                [(corrupt, readout), (clean, readout)], classic_hooks(plan.model)
            )
            return _finite(both[0]), both[1]
        return _finite(backend.baselines([(corrupt, readout)], hooks)[0]), None
    except EngineLost:
        raise  # not this prompt's fault, and the server has to know
    except SondeError as error:
        raise BaselineFailed(f"baseline generation failed: {error}") from error


def _fit(tokens: Sequence[int], plan: CheckedRequest) -> bool:
    known = all(0 <= token < plan.model.vocabulary for token in tokens)
    return known and 0 < len(tokens) <= plan.model.max_tokens


def _finite(logprobs: list[float]) -> list[float]:
    """A scale needs a zero: without one there is nothing to compare cells with."""
    if not all(map(math.isfinite, logprobs)):
        raise EngineError(f"its log-probabilities are {logprobs}, not finite numbers")
    return logprobs


def positions_in(backend: Backend, positions: Positions, prompt: str, n_tokens: int) -> list[int]:
    """Resolve spans and literals (contract check 18)."""
    if positions == "all_prompt":
        return list(range(n_tokens))
    return resolve_positions(positions, prompt=prompt, offsets=backend.offsets(prompt))


def capture(backend: Backend, plan: CheckedRequest, tokens: Sequence[int]) -> SourceRun:
    """Capture the clean prompt at all hooks and all positions of the swept layers (check 20)."""
    run = plan.request.source_run
    assert run is not None
    layers = sorted(set(plan.layers))
    try:
        return backend.capture(run, tokens, classic_hooks(plan.model), layers, range(len(tokens)))
    except (RequestTooLarge, EngineLost):
        raise  # they say what to change, or that nothing more will work
    except SondeError as error:
        raise CaptureFailed(f"auto-capture of clean run {run!r} failed ({error})") from error


def check_prompt(run: SourceRun, clean: Sequence[int] | None) -> None:
    """A run found under the name was captured from this clean prompt, not from another."""
    if clean is None or run.prompt == prompt_digest(clean):
        return
    raise BadRequest(
        f"run {run.run!r} was captured from a {run.n_tokens}-token prompt that is not this "
        f"clean_prompt of {len(clean)} tokens; name another run, or drop that one first"
    )


def pair_up(
    backend: Backend,
    plan: CheckedRequest,
    positions: Sequence[int],
    corrupt: Sequence[int],
    clean: Sequence[int] | None,
    n_source: int,
) -> Matching | None:
    """Which source position each position takes (checks 21 and 22); None means its own."""
    request = plan.request
    if request.source_positions is not None:
        sources = _source_positions(backend, request.source_positions, request.clean_prompt)
        return pair_explicitly(positions, sources, n_clean=n_source, n_corrupt=len(corrupt))
    if clean is not None:
        matching = align(clean, corrupt, pairing=request.pairing)
        if not any(position in matching.sources for position in positions):
            raise NothingToPatch(
                "no alignable positions: the prompts share none of the requested tokens; "
                "pass pairing ('last', 'first', 'proportional' or 'mean') or source_positions"
            )
        return matching
    if n_source != len(corrupt):
        raise BadRequest(
            f"run {request.source_run!r} was captured from a {n_source}-token prompt but this "
            f"prompt has {len(corrupt)}; pass clean_prompt so that positions can be aligned"
        )
    return None


def _source_positions(
    backend: Backend, positions: list[Position], clean_prompt: str | None
) -> list[int]:
    if all(isinstance(position, int) for position in positions):
        return [position for position in positions if isinstance(position, int)]
    if clean_prompt is None:
        raise BadRequest("source_positions given as spans need clean_prompt")
    offsets = backend.offsets(clean_prompt)
    return expand_positions(positions, prompt=clean_prompt, offsets=offsets)


def aligned(
    positions: list[int], matching: Matching | None, warnings: list[str]
) -> tuple[list[int], list[Skipped]]:
    """The positions that have a source, and those that do not with the reason."""
    if matching is None:
        return positions, []
    skipped = [
        Skipped(position=position, reason=matching.reasons[position])
        for position in positions
        if position not in matching.sources
    ]
    if skipped:
        warnings.append(
            f"{len(skipped)} of {len(positions)} positions have no counterpart in the clean prompt "
            f"and were left out (pairing {matching.alignment.pairing!r}); 'proportional' and "
            "'mean' give every position one, and source_positions names them"
        )
    return [position for position in positions if position in matching.sources], skipped


WriteAt = Callable[[Hook, int, int], Write]
"""Hook, layer, position -> the write of that cell."""


def captured_source(plan: CheckedRequest, run: SourceRun, matching: Matching | None) -> WriteAt:
    """Cells that take their activation from the source run."""
    mask = _mask(plan)

    def make(hook: Hook, layer: int, position: int) -> Write:
        taken = (position,) if matching is None else matching.sources[position]
        return write_at(hook, layer, position, _mean_of(run, taken), plan.request.alpha, mask)

    return make


def _mean_of(run: SourceRun, positions: Sequence[int]) -> Source:
    """The activation at one position of a run; at several, their mean."""
    each = tuple([FromRun(run.run, (position,), run.generation) for position in positions])
    return each[0] if len(each) == 1 else MeanOf(each)


def vector_source(plan: CheckedRequest, modules: NamedVectors) -> WriteAt:
    """Cells that take a vector: zeros, a row of the table, or a named one."""
    request, width, mask = plan.request, plan.model.width, _mask(plan)
    fixed: Vector | None = None
    if request.source_inline is not None and request.patch_vectors is not None:
        fixed = row(unpack(request.patch_vectors), request.source_inline, "source_inline")
    elif request.source_module == "zeros":
        fixed = np.zeros(width, dtype=np.float32)
    named: Mapping[tuple[Hook, int], Vector] = {}
    if fixed is None and request.source_module is not None:
        module = modules[request.source_module]
        named = {
            (hook, layer): module.at(request.source_module, hook, layer, width)
            for hook in plan.hooks
            for layer in plan.layers
        }

    def make(hook: Hook, layer: int, position: int) -> Write:
        values = fixed if fixed is not None else named[hook, layer]
        return write_at(hook, layer, position, FromVector(values), request.alpha, mask)

    return make


def _mask(plan: CheckedRequest) -> Vector | None:
    request = plan.request
    if request.mask is None:
        return None
    table = None if request.patch_vectors is None else unpack(request.patch_vectors)
    return mask_vector(request.mask, table, plan.model.width)


def check_held(
    run: SourceRun, plan: CheckedRequest, matching: Matching | None, positions: Sequence[int]
) -> None:
    """Every site the cells will read is in the run, under these weights (check 23)."""
    if run.weights != plan.model.weights:
        raise StaleSourceRun(run.run, run.weights, plan.model.weights)
    wanted = {
        source
        for position in positions
        for source in ((position,) if matching is None else matching.sources[position])
    }
    for name, needed, held in (
        ("hook", set(plan.hooks), set(run.hooks)),
        ("layer", set(plan.layers), set(run.layers)),
        ("position", wanted, set(run.positions)),
    ):
        missing = sorted(needed - held, key=str)
        if missing:
            raise UnknownSourceRun(
                f"patch source not found: run={run.run!r} site={name} {missing[0]}; "
                f"it holds {name}s {sorted(held, key=str)}"
            )
