"""Find which sites carry a behaviour, one patched run per site.

1. **Align**    each corrupt-prompt position with its clean-prompt positions, or with a reason.
2. **Baseline** the corrupt prompt, unpatched: the zero of the scale.
3. **Patch**    one source activation per row, thousands of rows to the backend at once.
4. **Score**    each row's answer token, and emit it as soon as its chunk is done.
5. **Bound**    rerun the baseline among the patched rows; the difference is the noise floor.

Controls ride along (see `controls`). The sweep owns what it captures: whatever happens, including
a caller that stops listening, it is dropped and its lease returned.
"""

import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

from sonde.backends.base import Backend, Row, Write, logprobs_of
from sonde.engine import prepare
from sonde.engine.controls import control_position, control_rows
from sonde.engine.metrics import Grading
from sonde.engine.plan import CheckedRequest, Limits, check, check_size
from sonde.engine.tally import Tally
from sonde.engine.trial import Panel, Trial, run
from sonde.engine.vectors import NamedVectors
from sonde.errors import RequestTooLarge, SourceRunDropped, UnknownSourceRun
from sonde.schema import (
    Hook,
    PatchSweepRequest,
    PromptTokens,
    Skipped,
    SourceRun,
    SweepEvent,
    Timing,
)


def sweep(
    backend: Backend,
    request: PatchSweepRequest,
    *,
    modules: NamedVectors | None = None,
    limits: Limits | None = None,
) -> Iterator[SweepEvent]:
    """Run one sweep. Everything wrong with the request raises before the first event."""
    clock = _Clock()
    with ExitStack() as cleanup:
        job = _prepare(backend, request, modules or {}, limits or Limits(), cleanup, clock)
        yield job.tally.start()
        for made in run(backend, [job.trial]):
            for _, panel, cell, logprobs in made:
                place = divmod(cell, len(job.tally.positions))
                yield job.tally.cell(job.tally.plan.hooks[panel], *place, logprobs)
        job.tally.controls, job.tally.noise = [*job.trial.found.values()], job.trial.noise
        clock.lap("cells")
        if request.keep_source:
            job.own_capture.pop_all()  # only a sweep that succeeds leaves a run behind
        cleanup.close()  # what was captured is gone before the summary says that it was
        yield job.tally.summary(clock.timing(job.tally.n_cells, job.trial.computed))


@dataclass(frozen=True)
class _Job:
    """A sweep that is ready to run."""

    trial: Trial
    tally: Tally
    own_capture: ExitStack
    """Drops the run that this sweep captured."""


class _Clock:
    """Where the seconds went."""

    def __init__(self) -> None:
        self._began = self._last = time.perf_counter()
        self._spent = {"baseline": 0.0, "capture": 0.0, "cells": 0.0}

    def lap(self, stage: str) -> None:
        """Give the time since the last lap to a stage."""
        now = time.perf_counter()
        self._spent[stage] += now - self._last
        self._last = now

    def timing(self, cells: int, computed: int) -> Timing:
        """The whole."""
        total = time.perf_counter() - self._began
        return Timing(
            baseline_seconds=self._spent["baseline"],
            capture_seconds=self._spent["capture"],
            cells_seconds=self._spent["cells"],
            total_seconds=total,
            cells=cells,
            computed_cells=computed,
            cells_per_second=cells / total,
        )


def _prepare(
    backend: Backend,
    request: PatchSweepRequest,
    modules: NamedVectors,
    limits: Limits,
    cleanup: ExitStack,
    clock: _Clock,
) -> _Job:
    """Check, align, baseline and capture, in the contract's order."""
    plan = check(request, backend, modules, limits)
    corrupt = backend.tokenize(request.prompt)
    clean = None if request.clean_prompt is None else backend.tokenize(request.clean_prompt)
    fresh = clean if request.source_run not in backend.manifests() else None
    baseline, of_clean = prepare.baselines(backend, plan, corrupt, fresh)
    plan = replace(plan, model=backend.describe())  # other weights may have been noticed by now
    clock.lap("baseline")
    positions = prepare.positions_in(backend, request.positions, request.prompt, len(corrupt))
    check_size(plan, len(positions), limits)
    warnings = _foreign_model(plan)
    holder = f"sweep-{uuid.uuid4().hex[:12]}"
    captured, clean_logprobs, pairs = None, None, None
    leased: list[str] = []
    skipped: list[Skipped] = []
    own_capture = cleanup.enter_context(ExitStack())
    if plan.from_vector:
        write_at = prepare.vector_source(plan, modules)
    else:
        source, captured = _source_run(backend, plan, clean, own_capture)
        prepare.check_prompt(source, clean)
        clean_logprobs = of_clean if captured is not None else None
        pairs = prepare.pair_up(backend, plan, positions, corrupt, clean, source.n_tokens)
        positions, skipped = prepare.aligned(positions, pairs, warnings)
        prepare.check_held(source, plan, pairs, positions)
        _lease(backend, source.run, holder, cleanup)
        leased.append(source.run)
        write_at = prepare.captured_source(plan, source, pairs)
    own = _own_run(backend, plan, corrupt, positions, holder, cleanup, warnings)
    controls = control_rows(_control_writes(plan, write_at, positions, len(corrupt)), own)
    clock.lap("capture")
    tally = Tally(
        plan,
        positions,
        Grading(baseline[0], clean_logprobs[0] if clean_logprobs else request.clean_baseline),
        baseline,
        clean_logprobs,
        captured,
        pairs.alignment if pairs is not None and clean is not None else None,
        _token_texts(backend, corrupt, clean),
        warnings,
        skipped,
    )
    trial = Trial(
        plan.model,
        corrupt,
        logprobs_of(plan.token_ids),
        baseline,
        [_panel(hook, plan.layers, positions, write_at) for hook in plan.hooks],
        controls,
        [partial(backend.lease, run_name, holder) for run_name in leased],
    )
    return _Job(trial, tally, own_capture)


def _panel(
    hook: Hook, layers: Sequence[int], positions: Sequence[int], write_at: prepare.WriteAt
) -> Panel:
    """The grid of one hook: layers by positions."""

    def row_at(place: tuple[int, ...]) -> Row:
        layer, position = place
        return Row((write_at(hook, layers[layer], positions[position]),))

    return Panel((len(layers), len(positions)), row_at)


def _source_run(
    backend: Backend, plan: CheckedRequest, clean: list[int] | None, own_capture: ExitStack
) -> tuple[SourceRun, SourceRun | None]:
    """The stored run, or one captured now, which this sweep then owns."""
    name = plan.request.source_run
    assert name is not None
    stored = backend.manifests().get(name)
    if stored is not None:
        return stored, None
    if clean is None:
        raise UnknownSourceRun(
            f"patch source not found: no run {name!r} is stored; capture it, or pass clean_prompt"
        )
    captured = prepare.capture(backend, plan, clean)
    own_capture.callback(backend.drop, name, captured.generation)
    return captured, captured


def _foreign_model(plan: CheckedRequest) -> list[str]:
    """A warning when the request names another model than the one that answers it."""
    asked, loaded = plan.request.model, plan.model.name
    if asked in (None, "", loaded):
        return []
    return [f"the request names model {asked!r}; this sweep ran on {loaded!r}"]


def _lease(backend: Backend, run: str, holder: str, cleanup: ExitStack) -> None:
    if not backend.lease(run, holder):
        raise SourceRunDropped(run)
    cleanup.callback(backend.release, run, holder)


def _control_writes(
    plan: CheckedRequest, write_at: prepare.WriteAt, positions: list[int], n_tokens: int
) -> list[Write]:
    """One site per hook, in the middle of the sweep."""
    layer = plan.layers[len(plan.layers) // 2]
    out = []
    for hook in plan.hooks:
        write = write_at(hook, layer, positions[len(positions) // 2])
        position = control_position(hook, layer, positions, plan.model, n_tokens)
        out.append(replace(write, site=replace(write.site, positions=(position,))))
    return out


def _own_run(
    backend: Backend,
    plan: CheckedRequest,
    corrupt: list[int],
    positions: list[int],
    holder: str,
    cleanup: ExitStack,
    warnings: list[str],
) -> str | None:
    """The corrupt prompt's own activations at the control sites, for the self-patch."""
    layer = plan.layers[len(plan.layers) // 2]
    at = {control_position(h, layer, positions, plan.model, len(corrupt)) for h in plan.hooks}
    name = f"{holder}.own"
    try:
        held = backend.capture(name, corrupt, plan.hooks, [layer], sorted(at))
    except RequestTooLarge as error:
        warnings.append(f"no self-patch control: {error}")
        return None
    cleanup.callback(backend.drop, name, held.generation)
    return name


def _token_texts(backend: Backend, corrupt: list[int], clean: list[int] | None) -> PromptTokens:
    def texts(tokens: list[int]) -> list[str]:
        return [backend.detokenize([token]) for token in tokens]

    return PromptTokens(prompt=texts(corrupt), clean=None if clean is None else texts(clean))
