"""A completion's patches, from the wire to the backend, checked before anything runs.

A run is looked up once, here, and meant by its generation from then on: one that is dropped or
replaced before it was read ends the completion with an error, never with other activations.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sonde.backends.base import Backend, FromRun, FromVector, Vector, Write, write_at
from sonde.backends.spots import spots
from sonde.engine import NamedVectors
from sonde.engine.plan import classic_hooks
from sonde.engine.vectors import mask_vector, row, unpack
from sonde.errors import (
    BadRequest,
    BadVectors,
    LayerOutOfRange,
    StaleSourceRun,
    UnknownHook,
    UnknownSourceRun,
    UnknownVector,
)
from sonde.schema import (
    HOOK_TABLE,
    CompletionPatch,
    Hook,
    ModelDescription,
    PatchVectors,
    SourceRun,
)
from sonde.server.completion.blame import blaming

MOST_AT_ONE_PLACE = 63
"""Patches at one layer and hook."""

Table = NDArray[np.float32]


@dataclass(frozen=True)
class PatchSources:
    """What patches may take their values from."""

    model: ModelDescription
    modules: NamedVectors
    runs: dict[str, SourceRun]
    table: Table | None


def resolve(
    specs: Sequence[CompletionPatch],
    patch_vectors: PatchVectors | None,
    backend: Backend,
    modules: NamedVectors,
    reach: int,
) -> tuple[Write, ...]:
    """The writes; `reach` is how many positions will be computed in every choice."""
    with blaming("patch"):
        if patch_vectors is not None and not specs:
            raise BadRequest("patch_vectors without patch: nothing refers to them")
        table = None if patch_vectors is None else unpack(patch_vectors, where="patch")
        held = PatchSources(backend.describe(), modules, backend.manifests(), table)
    made = []
    for i, spec in enumerate(specs):
        with blaming("patch", f"patch[{i}]"):
            made.append(_patch(spec, held, reach, f"patch[{i}]"))
    with blaming("patch"):
        _check_together(made)
    return tuple(made)


def _patch(spec: CompletionPatch, held: PatchSources, reach: int, where: str) -> Write:
    model = held.model
    hook = next((name for name in classic_hooks(model) if name == spec.hook), None)
    if hook is None:
        raise UnknownHook(spec.hook, classic_hooks(model))
    if not 0 <= spec.layer < model.n_layers:
        raise LayerOutOfRange(spec.layer, model.n_layers)
    if not 0 <= spec.dest_position < reach:
        raise BadRequest(
            f"dest_position {spec.dest_position} is out of range [0, {reach}): the prompt's tokens "
            "and all but the last of max_tokens are computed"
        )
    source = _source(spec, hook, held, where)
    mask = None
    if spec.mask is not None:
        mask = _fitting(mask_vector(spec.mask, held.table, model.width, where=where), model)
    return write_at(hook, spec.layer, spec.dest_position, source, spec.alpha, mask)


def _source(
    spec: CompletionPatch, hook: Hook, held: PatchSources, where: str
) -> FromRun | FromVector:
    """The one source that a patch has."""
    given = [spec.source_run, spec.source_module, spec.source_inline]
    if sum(each is not None for each in given) != 1:
        raise BadRequest("set exactly one of source_run, source_module and source_inline")
    if (spec.source_run is None) != (spec.source_position is None):
        raise BadRequest("source_run and source_position go together")
    if spec.source_run is not None and spec.source_position is not None:
        return _from_run(spec.source_run, hook, spec.layer, spec.source_position, held)
    if spec.source_inline is not None:
        taken = row(held.table, spec.source_inline, "source_inline", where=where)
        return FromVector(_fitting(taken, held.model))
    assert spec.source_module is not None
    return FromVector(_named(spec.source_module, hook, spec.layer, held))


def _from_run(name: str, hook: Hook, layer: int, position: int, held: PatchSources) -> FromRun:
    run = held.runs.get(name)
    if run is None:
        raise UnknownSourceRun(
            f"patch source not found: no run {name[:128]!r} is stored; capture it first"
        )
    if run.weights != held.model.weights:
        raise StaleSourceRun(name, run.weights, held.model.weights)
    if hook not in run.hooks or layer not in run.layers or position not in run.positions:
        raise UnknownSourceRun(
            f"patch source not found: run={name!r} site=({hook}, layer {layer}, position "
            f"{position}); it holds hooks {run.hooks}, layers {run.layers} and "
            f"{len(run.positions)} positions of a {run.n_tokens}-token prompt"
        )
    return FromRun(name, (position,), run.generation)


def _named(name: str, hook: Hook, layer: int, held: PatchSources) -> Vector:
    if name == "zeros":
        return np.zeros(held.model.width, dtype=np.float32)
    if name not in held.modules:
        raise UnknownVector(name, [*held.modules, "zeros"])
    return held.modules[name].at(name, hook, layer, held.model.width)


def _fitting(taken: Vector, model: ModelDescription) -> Vector:
    if taken.shape != (model.width,):
        raise BadVectors(f"patch_vectors width {len(taken)} != hook width {model.width}")
    return taken


def _check_together(writes: Sequence[Write]) -> None:
    """Not too many at one place, and no two that write to the same tensor: which would win?"""
    places = Counter((write.site.layer, write.site.hook) for write in writes)
    for (layer, hook), count in places.items():
        if count > MOST_AT_ONE_PLACE:
            raise BadRequest(
                f"{count} patches at layer {layer}, {hook}; at most {MOST_AT_ONE_PLACE} fit there"
            )
    seen: dict[tuple[Hook | None, int, int], int] = {}
    for i, spot in enumerate(spots(writes)):
        enters = HOOK_TABLE[spot.hook].enters
        # What leaves a layer is the very tensor that enters the next.
        inside = spot.hook if enters is None else None
        place = (inside, spot.layer + (enters or 0), spot.position)
        if place in seen:
            raise BadRequest(
                f"patch[{seen[place]}] and patch[{i}] write to the same place: {spot.hook}, "
                f"layer {spot.layer}, position {spot.position} (post_block of a layer is "
                "pre_attn of the next); keep one"
            )
        seen[place] = i
