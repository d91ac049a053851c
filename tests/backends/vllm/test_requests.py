"""What a rank does in a step follows from the specs and the rows of the batch."""

import numpy as np
import torch

from sonde.backends.vllm.captured import RankRuns
from sonde.backends.vllm.heads import Shard
from sonde.backends.vllm.requests import Requests, Span
from sonde.backends.vllm.spec import (
    CaptureSpec,
    RequestSpec,
    Stored,
    TermSpec,
    WriteSpec,
    to_bytes,
)
from sonde.backends.vllm.taps import Step, tap
from sonde.schema import HeadShape, Hook

WIDTH = 4
LAYERS = (0, 1, 2)
HEADS = HeadShape(heads=4, kv_heads=2, key_width=3, value_width=3)
"""Two shares: heads 2 and 3, and key head 1, are here."""


def requests(runs: RankRuns | None = None) -> Requests:
    shard = Shard(WIDTH, HEADS, share=1, shares=2)
    return Requests(runs or RankRuns(), LAYERS, shard, torch.float32, torch.device("cpu"))


def vector(value: float) -> bytes:
    return to_bytes(np.full(WIDTH, value, dtype=np.float32))


def patch(position: int, value: float = 1.0, layer: int = 1, alpha: float = 1.0) -> WriteSpec:
    return WriteSpec("post_block", layer, (position,), (TermSpec(vector(value)),), alpha)


def kept(runs: RankRuns, active: Requests) -> None:
    """A run "k": at `pre_attn`, layer 1, position p holds p, for positions 0 and 2."""
    capture = CaptureSpec("k", ("pre_attn",), (0, 1), (0, 2))
    active.arrive("a", RequestSpec("u", (), capture))
    stream = torch.arange(3.0)[:, None].expand(3, WIDTH).contiguous()
    step(active, [Span("a", 0, 3, 0)], stream)
    active.leave(["a"])


def written(active: Requests, write: WriteSpec, position: int, count: int = 1) -> list[float]:
    """The first dimension of what a request with this write writes in a step, row by row."""
    active.arrive("w", RequestSpec("written", (write,)))
    writes = active.plan([Span("w", 0, count, position)])[write.hook, write.layer].writes
    active.leave(["w"])
    active.report(["written"])
    assert writes is not None
    return writes.values[:, 0].tolist()


def step(active: Requests, spans: list[Span], stream: torch.Tensor) -> torch.Tensor:
    """Run the taps of layer 1 on a stream whose other half is zero. -> the stream after it."""
    planned, residual = Step(active.plan(spans)), torch.zeros_like(stream)
    for hook in ("pre_attn", "post_block"):
        tap(planned, (hook, 1), stream, residual)
    return stream + residual


def test_a_patch_lands_on_the_row_of_its_position_in_any_chunk_of_its_prompt() -> None:
    active = requests()
    active.arrive("a", RequestSpec("u", (patch(7, 5.0),)))
    first = step(active, [Span("b", 0, 2, 7), Span("a", 2, 4, 0)], torch.zeros(8, WIDTH))
    assert not first.any()  # its first chunk: 0 … 3
    second = step(active, [Span("a", 3, 4, 4), Span("b", 7, 1, 9)], torch.zeros(8, WIDTH))
    assert second.nonzero()[:, 0].unique().tolist() == [6]  # its second: 4 … 7, from row 3 on
    assert second[6].tolist() == [5.0] * WIDTH
    assert active.report(["u"])["u"]["written"] == [0]


def test_what_is_written_is_counted_when_it_is_and_not_when_it_is_planned() -> None:
    active = requests()
    active.arrive("a", RequestSpec("u", (patch(0), patch(1))))
    active.plan([Span("a", 0, 2, 0)])  # a step whose taps were never called
    assert active.report(["u"])["u"]["written"] == []


def test_several_requests_write_their_own_values_at_one_site() -> None:
    active = requests()
    active.arrive("a", RequestSpec("ua", (patch(0, 1.0),)))
    active.arrive("b", RequestSpec("ub", (patch(0, 2.0, alpha=0.5),)))
    writes = active.plan([Span("a", 0, 3, 0), Span("b", 3, 3, 0)])["post_block", 1].writes
    assert writes is not None
    assert writes.rows.tolist() == [0, 3]
    assert writes.values[:, 0].tolist() == [1.0, 2.0]
    assert writes.weight is not None
    assert writes.weight.tolist() == [[1.0], [0.5]]


def test_patches_that_replace_outright_need_no_weights() -> None:
    active = requests()
    active.arrive("a", RequestSpec("u", (patch(0), patch(1))))
    writes = active.plan([Span("a", 0, 2, 0)])["post_block", 1].writes
    assert writes is not None
    assert writes.weight is None


def test_patches_of_layers_on_other_ranks_are_left_to_them() -> None:
    active = requests()
    active.arrive("a", RequestSpec("u", (patch(0, layer=9),)))
    assert active.plan([Span("a", 0, 2, 0)]) == {}
    assert active.report(["u"])["u"] == {
        "written": [], "elsewhere": [], "captured": 0, "missing": []
    }  # fmt: skip


def test_a_captured_run_is_what_later_writes_take_from_position_by_position() -> None:
    runs = RankRuns()
    active = requests(runs)
    kept(runs, active)
    assert active.report(["u"])["u"]["captured"] == 2  # layer 0 was not run here
    stored = TermSpec(Stored("k", "pre_attn", 1, (2, 0)))
    for hook, layer in (("pre_attn", 1), ("mlp_out", 2)):  # its own site, and another
        write = WriteSpec(hook, layer, (5, 6), (stored,))  # type: ignore[arg-type]
        assert written(active, write, 5, 2) == [2.0, 0.0]


def test_a_source_of_several_terms_is_their_sum() -> None:
    runs = RankRuns()
    active = requests(runs)
    kept(runs, active)
    two = Stored("k", "pre_attn", 1, (2,))
    terms = (TermSpec(two), TermSpec(vector(3.0), -1, 2), TermSpec(vector(1.0), -1, 2))
    assert written(active, WriteSpec("mlp_in", 1, (5,), terms), 5) == [0.0]  # 2 - (3 + 1) / 2


def test_one_vector_is_for_every_position_and_several_are_one_each() -> None:
    active = requests()
    same = WriteSpec("mlp_in", 1, (7, 5), (TermSpec(vector(4.0)),))
    assert written(active, same, 5, 3) == [4.0, 4.0]
    each = np.arange(2, dtype=np.float32)[:, None].repeat(WIDTH, 1)
    apart = WriteSpec("mlp_in", 1, (7, 5), (TermSpec(to_bytes(each)),))
    assert written(active, apart, 5, 3) == [0.0, 1.0]


def test_a_write_at_several_positions_is_counted_at_each() -> None:
    active = requests()
    both = WriteSpec("post_block", 1, (0, 3), (TermSpec(vector(1.0)),))
    active.arrive("a", RequestSpec("u", (patch(1), both)))
    step(active, [Span("a", 0, 2, 0)], torch.zeros(2, WIDTH))  # 0 … 1; 3 comes later
    assert active.report(["u"])["u"]["written"] == [0, 1]


def test_rows_that_are_added_are_told_from_those_that_are_set() -> None:
    active = requests()
    added = WriteSpec("post_block", 1, (1,), (TermSpec(vector(2.0)),), 0.5, how="add")
    active.arrive("a", RequestSpec("u", (patch(0, 3.0), added, patch(2, layer=2))))
    planned = active.plan([Span("a", 0, 3, 0)])
    writes, others = planned["post_block", 1].writes, planned["post_block", 2].writes
    assert writes is not None
    assert others is not None
    assert writes.adds is not None
    assert writes.adds.tolist() == [[False], [True]]
    assert others.adds is None
    stream = step(active, [Span("a", 0, 3, 0)], torch.ones(3, WIDTH))
    assert stream[:, 0].tolist() == [3.0, 2.0, 1.0]


def head_write(hook: Hook, head: int, value: float, *positions: int) -> WriteSpec:
    data = to_bytes(np.full(3, value, dtype=np.float32))
    return WriteSpec(hook, 1, positions, (TermSpec(data),), head=head)


def test_a_head_is_written_where_it_lies_among_those_of_this_share() -> None:
    active = requests()
    writes = (head_write("z", 3, 7.0, 0, 2), head_write("z", 2, 5.0, 1), patch(1))
    active.arrive("a", RequestSpec("u", writes))
    planned = Step(active.plan([Span("a", 1, 3, 0)]))
    heads = torch.zeros(5, 6)
    tap(planned, ("z", 1), heads, None)
    assert heads.view(5, 2, 3)[:, :, 0].tolist() == [[0, 0], [0, 7], [5, 0], [0, 7], [0, 0]]
    stream, residual = torch.zeros(5, WIDTH), torch.zeros(5, WIDTH)
    tap(planned, ("post_block", 1), stream, residual)  # another width, in the same step
    assert (stream + residual)[:, 0].tolist() == [0, 0, 1, 0, 0]
    assert active.report(["u"])["u"]["written"] == [0, 1, 2, 3]


def test_heads_of_another_share_are_left_to_it_and_said_to_be() -> None:
    active = requests()
    writes = (head_write("q", 1, 1.0, 0, 1), head_write("k", 1, 2.0, 0), head_write("v", 0, 1.0, 0))
    active.arrive("a", RequestSpec("u", writes))
    assert list(active.plan([Span("a", 0, 2, 0)])) == [("k", 1)]
    assert active.report(["u"])["u"]["elsewhere"] == [0, 1, 3]


def test_a_heads_value_is_that_of_the_run_at_the_head_it_takes() -> None:
    runs = RankRuns()
    active = requests(runs)
    active.arrive("c", RequestSpec("c", (), CaptureSpec("k", ("z",), (1,), (0, 1))))
    planned = Step(active.plan([Span("c", 0, 2, 0)]))
    tap(planned, ("z", 1), torch.arange(12.0).view(2, 6), None)
    for head, expected in ((2, [6.0, 0.0]), (3, [9.0, 3.0])):
        stored = Stored("k", "z", 1, (1, 0), head)
        write = WriteSpec("z", 1, (5, 6), (TermSpec(stored),), head=2)
        assert written(active, write, 5, 2) == expected


def test_a_missing_source_is_noted_and_never_raised_in_a_step() -> None:
    active = requests()
    gone = TermSpec(Stored("gone@1", "pre_attn", 1, (0, 1)))
    half = WriteSpec("pre_attn", 1, (0, 1), (TermSpec(vector(1.0)), gone))
    active.arrive("a", RequestSpec("u", (half,)))
    assert active.plan([Span("a", 0, 2, 0)]) == {}
    assert active.report(["u"])["u"]["missing"] == ["gone@1"]


def test_a_preempted_request_that_comes_again_keeps_what_it_has_done() -> None:
    active = requests()
    spec = RequestSpec("u", (patch(0),))
    active.arrive("a", spec)
    step(active, [Span("a", 0, 1, 0)], torch.zeros(1, WIDTH))
    active.arrive("a", spec)
    assert active.report(["u"])["u"]["written"] == [0]


def test_an_ended_request_reports_once_and_takes_no_part_in_later_steps() -> None:
    active = requests()
    active.arrive("a", RequestSpec("u", (patch(0),)))
    assert active.any_of(["x", "a"])
    active.leave(["a"])
    assert not active.any_of(["x", "a"])
    assert active.plan([Span("a", 0, 1, 0)]) == {}
    assert list(active.report(["u"])) == ["u"]
    assert active.report(["u"]) == {}


def test_a_mask_is_a_weight_for_each_dimension() -> None:
    active = requests()
    one = (TermSpec(vector(1)),)
    masked = WriteSpec("mlp_in", 1, (0,), one, 0.5, vector(0.5))
    plain = WriteSpec("mlp_in", 1, (1,), one)
    active.arrive("a", RequestSpec("u", (masked, plain)))
    writes = active.plan([Span("a", 0, 2, 0)])["mlp_in", 1].writes
    assert writes is not None
    assert writes.weight is not None
    assert writes.weight.tolist() == [[0.25] * WIDTH, [1.0] * WIDTH]
