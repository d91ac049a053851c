"""Specs survive the way to the ranks: plain data, and nothing lost on it."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sonde.backends.base import FromRun, FromVector, Patch
from sonde.backends.vllm.spec import (
    ARGUMENT,
    CaptureSpec,
    PatchSpec,
    RequestSpec,
    from_bytes,
    patch_spec,
    read_spec,
    to_bytes,
)
from sonde.schema import HOOKS

patches = st.builds(
    PatchSpec,
    hook=st.sampled_from(HOOKS),
    layer=st.integers(0, 200),
    position=st.integers(0, 10_000),
    key=st.none() | st.text(max_size=20),
    sources=st.lists(st.integers(0, 100), max_size=3).map(tuple),
    vector=st.none() | st.binary(max_size=16),
    alpha=st.floats(allow_nan=False),
    mask=st.none() | st.binary(max_size=16),
)


@given(st.lists(patches, max_size=4), st.booleans())
def test_a_spec_is_the_same_after_the_way_there(made: list[PatchSpec], captures: bool) -> None:
    capture = CaptureSpec("run@1", ("post_block", "mlp_in"), (0, 3), (1, 2)) if captures else None
    spec = RequestSpec("uid", tuple(made), capture)
    assert read_spec({ARGUMENT: spec.to_plain()}) == spec


def test_a_spec_is_made_of_plain_data() -> None:
    spec = RequestSpec("uid", (PatchSpec("mlp_in", 1, 2, "run@1", (2,), None, 1.0, None),))
    assert RequestSpec.from_plain(json.loads(json.dumps(spec.to_plain()))) == spec


def test_a_request_without_a_spec_has_none() -> None:
    assert read_spec(None) is None
    assert read_spec({"other": 1}) is None


def test_the_lowest_patched_position_is_where_a_request_parts_from_others() -> None:
    at = [PatchSpec("mlp_in", 0, p, None, (), b"", 1.0, None) for p in (7, 3, 5)]
    assert RequestSpec("u", tuple(at)).first_position() == 3
    assert RequestSpec("u").first_position() is None


def test_a_patch_names_its_run_by_the_ranks_key_and_carries_its_vectors() -> None:
    values, mask = np.arange(4, dtype=np.float32), np.ones(4, dtype=np.float32)
    given_vector = patch_spec(Patch("mlp_in", 1, 2, FromVector(values), 0.5, mask), {})
    assert given_vector.key is None
    assert from_bytes(given_vector.vector or b"").tolist() == [0, 1, 2, 3]
    assert from_bytes(given_vector.mask or b"").tolist() == [1, 1, 1, 1]
    from_run = patch_spec(Patch("mlp_in", 1, 2, FromRun("clean", (4, 5))), {"clean": "clean@7"})
    assert (from_run.key, from_run.sources, from_run.vector) == ("clean@7", (4, 5), None)


def test_vectors_travel_as_float32_whatever_they_were() -> None:
    assert from_bytes(to_bytes(np.array([1.5, -2.0], dtype=np.float64))).tolist() == [1.5, -2.0]
