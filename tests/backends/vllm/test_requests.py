"""What a rank does in a step follows from the specs and the rows of the batch."""

import numpy as np
import torch

from sonde.backends.vllm.captured import RankRuns
from sonde.backends.vllm.requests import Requests, Span
from sonde.backends.vllm.spec import CaptureSpec, PatchSpec, RequestSpec, to_bytes
from sonde.backends.vllm.taps import Step, tap

WIDTH = 4
LAYERS = (0, 1, 2)


def requests(runs: RankRuns | None = None) -> Requests:
    return Requests(runs or RankRuns(), LAYERS, WIDTH, torch.float32, torch.device("cpu"))


def vector(value: float) -> bytes:
    return to_bytes(np.full(WIDTH, value, dtype=np.float32))


def patch(position: int, value: float = 1.0, layer: int = 1, alpha: float = 1.0) -> PatchSpec:
    return PatchSpec("post_block", layer, position, None, (), vector(value), alpha, None)


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
    assert active.report(["u"])["u"] == {"written": [], "captured": 0, "missing": []}


def test_a_captured_run_is_what_a_later_patch_takes_from_and_its_mean() -> None:
    runs = RankRuns()
    active = requests(runs)
    capture = CaptureSpec("k", ("pre_attn",), (0, 1), (0, 2))
    active.arrive("a", RequestSpec("u", (), capture))
    stream = torch.arange(3.0)[:, None].expand(3, WIDTH).contiguous()
    step(active, [Span("a", 0, 3, 0)], stream)
    assert active.report(["u"])["u"]["captured"] == 2  # layer 0 was not run here
    mean = PatchSpec("pre_attn", 1, 5, "k", (0, 2), None, 1.0, None)
    active.arrive("b", RequestSpec("v", (mean,)))
    writes = active.plan([Span("b", 0, 1, 5)])["pre_attn", 1].writes
    assert writes is not None
    assert writes.values.tolist() == [[1.0] * WIDTH]


def test_a_missing_source_is_noted_and_never_raised_in_a_step() -> None:
    active = requests()
    gone = PatchSpec("pre_attn", 1, 0, "gone@1", (0,), None, 1.0, None)
    active.arrive("a", RequestSpec("u", (gone,)))
    assert active.plan([Span("a", 0, 1, 0)]) == {}
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
    masked = PatchSpec("mlp_in", 1, 0, None, (), vector(1), 0.5, vector(0.5))
    plain = PatchSpec("mlp_in", 1, 1, None, (), vector(1), 1.0, None)
    active.arrive("a", RequestSpec("u", (masked, plain)))
    writes = active.plan([Span("a", 0, 2, 0)])["mlp_in", 1].writes
    assert writes is not None
    assert writes.weight is not None
    assert writes.weight.tolist() == [[0.25] * WIDTH, [1.0] * WIDTH]
