"""Specs survive the way to the ranks: plain data, and nothing lost on it."""

import json
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sonde.backends.base import FromRun, Site
from sonde.backends.vllm.spec import (
    ARGUMENT,
    CaptureSpec,
    RequestSpec,
    Stored,
    TermSpec,
    WriteSpec,
    from_bytes,
    read_spec,
    taken_from,
    to_bytes,
)
from sonde.schema import HOOKS

positions = st.lists(st.integers(0, 10_000), max_size=3).map(tuple)
hooks, layers = st.sampled_from(HOOKS), st.integers(0, 200)
heads = st.none() | st.integers(0, 64)
stored = st.builds(Stored, st.text(max_size=9), hooks, layers, positions, heads)
values = st.binary(max_size=16) | stored
terms = st.builds(TermSpec, values, st.sampled_from((1, -1)), st.integers(1, 4))
writes = st.builds(
    WriteSpec,
    hook=hooks,
    layer=layers,
    positions=positions,
    terms=st.lists(terms, max_size=3).map(tuple),
    alpha=st.floats(allow_nan=False),
    mask=st.none() | st.binary(max_size=16),
    how=st.sampled_from(("set", "add")),
    head=heads,
)


@given(st.lists(writes, max_size=4), st.booleans())
def test_a_spec_is_the_same_after_the_way_there(made: list[WriteSpec], captures: bool) -> None:
    capture = CaptureSpec("run@1", ("post_block", "mlp_in"), (0, 3), (1, 2)) if captures else None
    spec = RequestSpec("uid", tuple(made), capture)
    assert read_spec({ARGUMENT: spec.to_plain()}) == spec


def test_a_spec_is_made_of_plain_data() -> None:
    term = TermSpec(Stored("run@1", "v", 1, (2, 3), 1), -1, 2)
    spec = RequestSpec("uid", (WriteSpec("k", 1, (2, 4), (term,), 0.5, None, "add", 2),))
    assert RequestSpec.from_plain(json.loads(json.dumps(spec.to_plain()))) == spec


def test_a_request_without_a_spec_has_none() -> None:
    assert read_spec(None) is None
    assert read_spec({"other": 1}) is None


def test_a_write_at_several_positions_has_as_many_spots_one_after_the_other() -> None:
    spec = RequestSpec("u", (WriteSpec("mlp_in", 0, (7, 3), ()), WriteSpec("mlp_out", 2, (5,), ())))
    assert spec.spots() == [("mlp_in", 0, 7), ("mlp_in", 0, 3), ("mlp_out", 2, 5)]
    assert spec.first_position() == 3, "below it, the request is like any other"
    assert RequestSpec("u").first_position() is None


def test_a_source_is_the_writes_own_site_unless_it_names_another() -> None:
    def taken(site: Site, **given: Any) -> Site:
        return taken_from(FromRun("r", (0,), **given), site)

    stream, head = Site("mlp_in", 3, (7,)), Site("z", 3, (7,), 5)
    assert taken(stream) == Site("mlp_in", 3, (0,))
    assert taken(stream, hook="mlp_out") == Site("mlp_out", 3, (0,))
    assert taken(stream, layer=0) == Site("mlp_in", 0, (0,))
    assert taken(head) == Site("z", 3, (0,), 5)
    assert taken(head, hook="q") == Site("q", 3, (0,), 5)
    assert taken(head, head=1) == Site("z", 3, (0,), 1)
    assert taken(head, hook="attn_out") == Site("attn_out", 3, (0,)), "which has no heads"


def test_vectors_travel_as_float32_whatever_they_were() -> None:
    assert from_bytes(to_bytes(np.array([1.5, -2.0], dtype=np.float64))).tolist() == [1.5, -2.0]
