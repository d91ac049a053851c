"""Heads are dealt out over shares as vLLM deals them out."""

from types import SimpleNamespace
from typing import Any

import pytest

from sonde.backends.vllm.heads import Shard, shape_of
from sonde.schema import HeadShape

SHAPE = HeadShape(heads=12, kv_heads=4, key_width=8, value_width=6)


def shards(shares: int, shape: HeadShape = SHAPE) -> list[Shard]:
    return [Shard(96, shape, share, shares) for share in range(shares)]


def test_every_head_is_on_one_share_while_there_are_enough_of_them() -> None:
    for shares in (1, 2, 4):
        for hook, n in (("q", 12), ("z", 12), ("k", 4), ("v", 4)):
            held = [head for shard in shards(shares) for head in shard.held(hook)]  # type: ignore[arg-type]
            assert held == list(range(n))


def test_neighbours_hold_copies_of_a_key_head_when_there_are_more_shares_than_key_heads() -> None:
    assert [list(shard.held("k")) for shard in shards(12)] == [[i // 3] for i in range(12)]
    for shard in shards(12):
        assert {SHAPE.group(head) for head in shard.held("q")} == set(shard.held("k"))


def test_what_is_not_of_heads_is_whole_on_every_share() -> None:
    for shard in shards(4):
        assert shard.has("mlp_in", None)
        assert shard.place("mlp_in", None) is None
        assert shard.row_width("mlp_in") == shard.value_width("mlp_in") == 96


def test_a_head_has_a_place_on_the_shares_that_hold_it_and_on_no_other() -> None:
    first, second = shards(2)
    assert [first.place("z", head) for head in (0, 5, 6)] == [0, 5, None]
    assert [second.place("z", head) for head in (5, 6, 11)] == [None, 0, 5]
    assert (first.has("v", 1), second.has("v", 1)) == (True, False)
    assert not first.has("z", None)


def test_a_row_is_the_heads_of_a_share_end_to_end() -> None:
    [whole], [half, _] = shards(1), shards(2)
    assert (whole.row_width("z"), half.row_width("z")) == (12 * 6, 6 * 6)
    assert (whole.row_width("k"), half.row_width("k")) == (4 * 8, 2 * 8)
    assert (half.value_width("q"), half.value_width("v")) == (8, 6)


def attention(heads: int = 3, kv_heads: int = 1, **more: Any) -> Any:
    """What a rank of four says of the shape above."""
    told = {"head_size": 8, "head_size_v": 6, "kv_sharing_target_layer_name": None, **more}
    kernel = SimpleNamespace(num_heads=heads, num_kv_heads=kv_heads, **told)
    return SimpleNamespace(attn=kernel, o_proj=None, total_num_heads=12, total_num_kv_heads=4)


def test_attention_says_what_heads_the_model_has() -> None:
    assert shape_of([attention(), attention()], 1, 4) == SHAPE


@pytest.mark.parametrize(
    "some",
    [
        [attention(), attention(head_size=16)],
        [attention(), attention(kv_sharing_target_layer_name="model.layers.0")],
        [attention(heads=4)],
        [attention(kv_heads=2)],
        [SimpleNamespace(attn=None)],
        [],
    ],
    ids=[
        "unlike",
        "keys of another layer",
        "dealt otherwise",
        "keys dealt otherwise",
        "no",
        "none",
    ],
)
def test_where_it_is_otherwise_there_are_no_heads(some: list[Any]) -> None:
    assert shape_of(some, 1, 4) is None
