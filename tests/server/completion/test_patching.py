"""Patches on the wire become patches of the backend, or are refused before anything runs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from sonde.backends.base import FromRun, FromVector, Write
from sonde.engine import NamedVectors, VectorModule
from sonde.schema import CLASSIC_HOOKS, CompletionPatch, PatchVectors
from sonde.server.completion.patching import MOST_AT_ONE_PLACE, resolve
from sonde.server.errors import OpenAIError
from tests.engine.test_vectors import packed
from tests.scripted import LAYERS, WIDTH, Scripted

TABLE = np.arange(3 * WIDTH, dtype=np.float32).reshape(3, WIDTH)
TOKENS = [0, 1, 2, 3]
REACH = 6
NAMED: NamedVectors = {
    "mood": VectorModule({("mlp_out", 1): np.full(WIDTH, 2.0, dtype=np.float32)}, scale=0.5)
}


def spec(**fields: Any) -> CompletionPatch:
    """A patch with zeros, right as it stands; `...` leaves a field out."""
    given = {"layer": 1, "hook": "mlp_out", "dest_position": 2, "source_module": "zeros"} | fields
    kept = {name: value for name, value in given.items() if value is not ...}
    return CompletionPatch.model_validate(kept)


def stored() -> Scripted:
    """A backend with a run of four tokens, two hooks and two layers."""
    backend = Scripted()
    backend.capture("clean", TOKENS, ["mlp_out", "post_block"], [1, 2], [0, 2, 3])
    return backend


def patches(
    *specs: CompletionPatch, table: PatchVectors | None = None, backend: Scripted | None = None
) -> tuple[Write, ...]:
    return resolve(specs, table, backend or stored(), NAMED, REACH)


def values(patch: Write) -> list[float]:
    assert isinstance(patch.source, FromVector)
    return [float(value) for value in patch.source.values]


def test_a_patch_goes_where_it_is_told() -> None:
    [patch] = patches(spec(hook="pre_attn", layer=3, dest_position=5, alpha=-0.5))
    assert (patch.site.hook, patch.site.layer, patch.site.positions[0], patch.alpha) == (
        "pre_attn",
        3,
        5,
        -0.5,
    )
    assert patch.mask is None


def test_zeros_need_no_registration() -> None:
    assert values(patches(spec())[0]) == [0.0] * WIDTH


def test_a_named_vector_is_taken_at_its_site_times_its_scale() -> None:
    assert values(patches(spec(source_module="mood"))[0]) == [1.0] * WIDTH


def test_a_row_of_the_table_is_taken() -> None:
    [patch] = patches(spec(source_module=..., source_inline=1), table=packed(TABLE))
    assert values(patch) == TABLE[1].tolist()


def test_a_run_is_meant_by_its_generation() -> None:
    backend = stored()
    [patch] = patches(
        spec(source_module=..., source_run="clean", source_position=3), backend=backend
    )
    assert patch.source == FromRun("clean", (3,), backend.runs["clean"][0].generation)


@pytest.mark.parametrize(
    ("mask", "expected"),
    [({"indices": [0, 7]}, [1.0, *[0.0] * 6, 1.0]), ({"inline": 2}, TABLE[2].tolist())],
)
def test_a_mask_is_a_list_of_dimensions_or_a_row(mask: Any, expected: list[float]) -> None:
    [patch] = patches(spec(mask=mask), table=packed(TABLE))
    assert patch.mask is not None
    assert patch.mask.tolist() == expected


RUN = {"source_module": ..., "source_run": "clean", "source_position": 3}
INLINE = {"source_module": ..., "source_inline": 0}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"hook": "attn"}, "'attn' is not injectable on this model; valid hooks"),
        ({"layer": LAYERS}, rf"layer {LAYERS} is out of range \[0, {LAYERS}\)"),
        ({"layer": -1}, "layer -1 is out of range"),
        ({"dest_position": -1}, rf"dest_position -1 is out of range \[0, {REACH}\)"),
        ({"dest_position": REACH}, f"dest_position {REACH} is out of range"),
        ({"source_module": ...}, "exactly one of source_run, source_module and source_inline"),
        ({"source_inline": 0}, "exactly one of"),
        (RUN | {"source_inline": 0}, "exactly one of"),
        ({"source_position": 0}, "source_run and source_position go together"),
        (RUN | {"source_position": ...}, "source_run and source_position go together"),
        (RUN | {"source_run": "other"}, "patch source not found: no run 'other'"),
        (RUN | {"source_run": "../etc"}, "patch source not found: no run '../etc'"),
        (RUN | {"hook": "mlp_in"}, r"patch source not found: run='clean' site=\(mlp_in, layer 1"),
        (RUN | {"layer": 0}, "patch source not found: run='clean' .* layer 0"),
        (RUN | {"source_position": 1}, "patch source not found: run='clean' .* position 1"),
        (RUN | {"source_position": -1}, "patch source not found: .* position -1"),
        ({"source_module": "sad"}, r"unknown source_module 'sad'; available: \['mood', 'zeros'\]"),
        ({"source_module": "mood", "layer": 0}, "'mood' has no vector at mlp_out, layer 0"),
        (INLINE | {"source_inline": 3}, r"source_inline row 3 is out of range \[0, 3\)"),
        (INLINE | {"source_inline": -1}, "source_inline row -1 is out of range"),
        ({"mask": {}}, "exactly one of 'indices' and 'inline'"),
        ({"mask": {"indices": [0], "inline": 0}}, "exactly one of 'indices' and 'inline'"),
        ({"mask": {"indices": [WIDTH]}}, f"mask index {WIDTH} is out of range"),
        ({"mask": {"inline": 3}}, "mask.inline row 3 is out of range"),
    ],
)
def test_a_patch_that_makes_no_sense_is_refused(fields: Any, message: str) -> None:
    with pytest.raises(OpenAIError, match=rf"patch\[1\]: .*{message}") as refused:
        patches(spec(dest_position=0), spec(**fields), table=packed(TABLE))
    assert (refused.value.param, refused.value.status_code) == ("patch", 400)


@pytest.mark.parametrize("fields", [INLINE, {"mask": {"inline": 0}}])
def test_rows_need_a_table_of_the_models_width(fields: Any) -> None:
    with pytest.raises(OpenAIError, match=r"patch\[0\]: .*requires patch_vectors"):
        patches(spec(**fields))
    with pytest.raises(OpenAIError, match=rf"patch\[0\]: .*width 4 != hook width {WIDTH}"):
        patches(spec(**fields), table=packed(np.ones((2, 4))))


def test_a_broken_table_is_refused() -> None:
    broken = packed(TABLE).model_copy(update={"data": "AAAA"})
    with pytest.raises(OpenAIError, match="patch: patch_vectors.data has 4 base64") as refused:
        patches(spec(), table=broken)
    assert refused.value.param == "patch"


def test_a_table_that_nothing_refers_to_is_refused() -> None:
    with pytest.raises(OpenAIError, match="patch_vectors without patch"):
        patches(table=packed(TABLE))


def test_a_run_of_other_weights_is_refused() -> None:
    backend = stored()
    backend.weights = "w2"
    with pytest.raises(OpenAIError, match=r"patch\[0\]: .*captured under weights w1, but w2"):
        patches(spec(**RUN), backend=backend)


def at(count: int) -> Sequence[CompletionPatch]:
    return [spec(dest_position=i) for i in range(count)]


def test_so_many_patches_fit_at_one_layer_and_hook_and_no_more() -> None:
    assert len(resolve(at(MOST_AT_ONE_PLACE), None, stored(), {}, 100)) == MOST_AT_ONE_PLACE
    elsewhere = spec(layer=2)
    resolve([*at(MOST_AT_ONE_PLACE), elsewhere], None, stored(), {}, 100)
    with pytest.raises(OpenAIError, match="64 patches at layer 1, mlp_out; at most 63") as refused:
        resolve(at(MOST_AT_ONE_PLACE + 1), None, stored(), {}, 100)
    assert refused.value.param == "patch"


@pytest.mark.parametrize("hook", CLASSIC_HOOKS)
def test_two_patches_of_one_place_are_refused(hook: str) -> None:
    with pytest.raises(OpenAIError, match=r"patch\[0\] and patch\[1\] write to the same place"):
        patches(spec(hook=hook), spec(hook=hook, alpha=0.5))


def test_what_leaves_a_layer_enters_the_next() -> None:
    with pytest.raises(OpenAIError, match="post_block of a layer is pre_attn of the next"):
        patches(spec(hook="post_block", layer=0), spec(hook="pre_attn", layer=1))
    patches(spec(hook="post_block", layer=1), spec(hook="pre_attn", layer=1))
