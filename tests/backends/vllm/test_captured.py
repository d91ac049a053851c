"""A rank keeps what it computes of a run, under the numbers of the whole model."""

import torch

from sonde.backends.vllm.captured import RankRun, RankRuns, kept_dtype
from sonde.backends.vllm.heads import Shard
from sonde.backends.vllm.spec import CaptureSpec
from sonde.schema import HeadShape

WANTED = CaptureSpec("run@1", ("post_block", "mlp_in"), (1, 4, 6), (0, 3))


def filled() -> RankRun:
    run = RankRun.empty(WANTED, here=[4, 5, 6], shard=Shard(2), dtype=torch.bfloat16)
    for hook in WANTED.hooks:
        for layer in (4, 6):
            run.keep((hook, layer), [0, 1], torch.full((2, 2), float(layer)))
    return run


def test_a_rank_has_room_for_its_own_layers_only() -> None:
    run = RankRun.empty(WANTED, here=[4, 5, 6], shard=Shard(2), dtype=torch.bfloat16)
    assert list(run.layers) == [4, 6]
    assert run.activations["post_block"].shape == (2, 2, 2)
    assert run.count() == 0


def test_the_stream_is_kept_in_float32_and_the_rest_as_the_model_has_it() -> None:
    assert kept_dtype("post_block", torch.bfloat16) == torch.float32
    assert kept_dtype("mlp_out", torch.bfloat16) == torch.bfloat16
    bytes_of_both = 2 * 2 * 2 * (4 + 2)
    assert filled().manifest()["bytes"] == bytes_of_both


def test_it_counts_the_sites_that_were_reached_each_once() -> None:
    run = filled()
    assert run.count() == 2 * 2 * 2
    run.keep(("mlp_in", 4), [0], torch.zeros(1, 2))
    assert run.count() == 8


def test_rows_come_back_as_they_were_and_none_where_something_is_not_here() -> None:
    run = filled()
    rows = run.rows("mlp_in", 6, [3, 0])
    assert rows is not None
    assert rows.tolist() == [[6.0, 6.0], [6.0, 6.0]]
    assert run.rows("mlp_in", 1, [0]) is None  # on another rank
    assert run.rows("mlp_in", 6, [1]) is None
    assert run.rows("pre_attn", 6, [0]) is None


def test_a_share_keeps_its_own_heads_and_finds_them_by_their_numbers_in_the_whole_model() -> None:
    shape = HeadShape(heads=6, kv_heads=3, key_width=2, value_width=2)
    wanted = CaptureSpec("run@1", ("z", "v", "mlp_in"), (0,), (0, 3))
    run = RankRun.empty(wanted, [0], Shard(5, shape, share=1, shares=3), torch.float32)
    run.keep(("z", 0), [0, 1], torch.tensor([[20, 21, 30, 31], [22, 23, 32, 33]]))
    run.keep(("v", 0), [0, 1], torch.ones(2, 2))
    assert run.manifest()["bytes"] == 4 * 2 * (4 + 2 + 5), "two heads, one key head, all else whole"
    for head, expected in ((2, [[22, 23], [20, 21]]), (3, [[32, 33], [30, 31]])):
        rows = run.rows("z", 0, [3, 0], head)
        assert rows is not None
        assert rows.tolist() == expected
    assert run.rows("v", 0, [0], 1) is not None
    assert run.rows("z", 0, [0], 4) is None, "another share has it"
    assert run.rows("v", 0, [0], 2) is None
    assert run.rows("z", 0, [0]) is None, "no share has the heads of all"


def test_a_rank_does_as_it_is_told() -> None:
    runs = RankRuns({"run@1": filled()})
    assert runs.lease(["run@1", "run@2"]) == ["run@1"]
    assert runs.manifests()["run@1"]["leased"]
    assert runs.lease([]) == []
    assert not runs.manifests()["run@1"]["leased"]
    assert runs.drop("run@1")
    assert not runs.drop("run@1")
    assert runs.manifests() == {}
