"""Reading and writing rows of a stream that is passed on in two halves."""

import pytest
import torch
from torch import Tensor, nn

from sonde.backends.vllm.adapters import Edge
from sonde.backends.vllm.taps import (
    SiteReads,
    SiteWork,
    SiteWrites,
    Step,
    install,
    read,
    tap,
    write,
)
from sonde.schema import Hook

WIDTH = 8
DTYPES = [torch.float32, torch.bfloat16, torch.float16]


def halves(dtype: torch.dtype, seed: int = 0) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(seed)
    hidden, residual = torch.randn(2, 5, WIDTH, generator=draw).to(dtype)
    return hidden.contiguous(), (residual * 30).contiguous()


class Noted:
    """Hears of writes and reads."""

    def __init__(self) -> None:
        self.written: list[int] = []
        self.kept: list[tuple[object, list[int], Tensor]] = []

    def wrote(self, index: int) -> None:
        self.written.append(index)

    def keep(self, site: object, columns: list[int], values: Tensor) -> None:
        self.kept.append((site, columns, values))


def writes(
    values: Tensor,
    weight: Tensor | None = None,
    owner: Noted | None = None,
    adds: Tensor | None = None,
) -> SiteWrites:
    rows = torch.arange(len(values)) * 2
    owners = tuple((owner, i) for i in range(len(values))) if owner is not None else ()
    return SiteWrites(rows, values, weight, adds, owners)


ADD = torch.tensor([[True], [True]])


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_next_norm_sees_what_was_written_and_not_its_rounding(dtype: torch.dtype) -> None:
    hidden, residual = halves(dtype)
    value = halves(dtype, 1)[0].float()[:2] + halves(dtype, 2)[1].float()[:2]
    write(hidden, residual, writes(value))
    error = (read(hidden, residual, torch.tensor([0, 2])) - value).abs().max()
    assert error <= value.abs().max() * torch.finfo(dtype).eps ** 2
    assert torch.equal(residual[[0, 2]], value.to(dtype))  # what the stream carries on


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_that_are_not_patched_stay_as_they_are(dtype: torch.dtype) -> None:
    hidden, residual = halves(dtype)
    before = hidden.clone(), residual.clone()
    write(hidden, residual, writes(torch.ones(2, WIDTH)))
    assert torch.equal(hidden[[1, 3, 4]], before[0][[1, 3, 4]])
    assert torch.equal(residual[[1, 3, 4]], before[1][[1, 3, 4]])


@pytest.mark.parametrize("dtype", DTYPES)
def test_weight_zero_leaves_both_halves_untouched_to_the_bit(dtype: torch.dtype) -> None:
    hidden, residual = halves(dtype)
    before = hidden.clone(), residual.clone()
    write(hidden, residual, writes(torch.ones(2, WIDTH), torch.zeros(2, 1)))
    assert torch.equal(hidden, before[0])
    assert torch.equal(residual, before[1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("split", [True, False], ids=["two halves", "one tensor"])
def test_adding_nothing_leaves_everything_untouched_to_the_bit(
    dtype: torch.dtype, split: bool
) -> None:
    """Zeros with any weight, and anything with weight 0."""
    for value, weight in ((0.0, None), (0.0, torch.full((2, 1), 0.3)), (5.0, torch.zeros(2, 1))):
        hidden, residual = halves(dtype)
        before = hidden.clone(), residual.clone()
        made = writes(torch.full((2, WIDTH), value), weight, adds=ADD)
        write(hidden, residual if split else None, made)
        assert torch.equal(hidden, before[0])
        assert torch.equal(residual, before[1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_next_norm_sees_the_sum_and_not_its_rounding(dtype: torch.dtype) -> None:
    hidden, residual = halves(dtype)
    rows = torch.tensor([0, 2])
    before = read(hidden, residual, rows)
    value = halves(torch.float32, 1)[0][:2]
    write(hidden, residual, writes(value, torch.full((2, 1), 0.5), adds=ADD))
    expected = before + 0.5 * value
    error = (read(hidden, residual, rows) - expected).abs().max()
    assert error <= expected.abs().max() * torch.finfo(dtype).eps ** 2


def test_only_the_dimensions_to_which_something_is_added_change() -> None:
    hidden, residual = halves(torch.bfloat16)
    before = hidden.clone(), residual.clone()
    value = torch.zeros(2, WIDTH)
    value[:, 3] = 7.0
    write(hidden, residual, writes(value, adds=ADD))
    others = [0, 1, 2, 4, 5, 6, 7]
    assert torch.equal(hidden[:, others], before[0][:, others])
    assert torch.equal(residual[:, others], before[1][:, others])
    assert abs(read(hidden, residual, torch.tensor([0]))[0, 3] - before[0][0, 3].float()
               - before[1][0, 3].float() - 7.0) < 1e-3  # fmt: skip


def test_one_site_may_set_one_row_and_add_to_another() -> None:
    hidden, residual = halves(torch.float32)
    before = hidden + residual
    write(hidden, residual, writes(torch.ones(2, WIDTH), adds=torch.tensor([[False], [True]])))
    assert torch.equal((hidden + residual)[0], torch.ones(WIDTH))
    assert torch.allclose((hidden + residual)[2], before[2] + 1)


def test_a_mask_writes_some_dimensions_and_leaves_the_others() -> None:
    hidden, residual = halves(torch.bfloat16)
    before = read(hidden, residual, torch.tensor([0]))
    mask = torch.tensor([[1.0, 0, 0.5, 0, 1, 0, 0, 0]])
    write(hidden, residual, writes(torch.full((1, WIDTH), 4.0), mask))
    after = read(hidden, residual, torch.tensor([0]))
    assert after[0, 0] == after[0, 4] == 4
    assert torch.equal(after[0, [1, 3, 5, 6, 7]], before[0, [1, 3, 5, 6, 7]])
    assert abs(after[0, 2] - (before[0, 2] + 4) / 2) < 0.01


def test_a_site_of_one_tensor_is_replaced_exactly() -> None:
    hidden, _ = halves(torch.float32)
    write(hidden, None, writes(torch.full((2, WIDTH), 0.1)))
    assert torch.equal(hidden[[0, 2]], torch.full((2, WIDTH), 0.1))


def test_a_tap_reads_before_it_writes_and_says_what_it_did() -> None:
    hidden, residual = halves(torch.float32)
    pristine = read(hidden, residual, torch.tensor([0]))
    noted, site = Noted(), ("post_block", 3)
    work = SiteWork([SiteReads(torch.tensor([0]), [4], noted)])
    work.writes = writes(torch.ones(2, WIDTH), owner=noted)
    tap(Step({site: work}), site, hidden, residual)  # type: ignore[dict-item,arg-type]
    (where, columns, values), *rest = noted.kept
    assert (where, columns, rest) == (site, [4], [])
    assert torch.equal(values, pristine)
    assert noted.written == [0, 1]


def head_writes(values: Tensor, heads: list[int], **more: Tensor | None) -> SiteWrites:
    rows = torch.arange(len(values)) * 2
    given = {"weight": None, "adds": None} | more
    return SiteWrites(rows, values, given["weight"], given["adds"], (), torch.tensor(heads))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_head_is_a_part_of_a_row_also_where_rows_are_parts_of_wider_ones(
    dtype: torch.dtype,
) -> None:
    """As queries, keys and values are cut out of one product."""
    whole = halves(dtype)[0].repeat(1, 3)
    before, keys = whole.clone(), whole[:, WIDTH : 2 * WIDTH]
    values = torch.full((2, 2), 0.1)
    write(keys, None, head_writes(values, [3, 0]))
    assert torch.equal(keys[0, 6:], values[0].to(dtype))
    assert torch.equal(keys[2, :2], values[1].to(dtype))
    whole[0, WIDTH + 6 : 2 * WIDTH], whole[2, WIDTH : WIDTH + 2] = before[0, 6:8], before[2, :2]
    assert torch.equal(whole, before), "and nothing else has changed"


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_head_to_which_nothing_is_added_or_weight_0_written_keeps_its_bits(
    dtype: torch.dtype,
) -> None:
    hidden = halves(dtype)[0]
    hidden[0, 2] = -0.0
    before = hidden.clone()
    for values, more in (
        (torch.zeros(2, 2), {"adds": ADD}),
        (torch.ones(2, 2), {"weight": torch.zeros(2, 1)}),
    ):
        write(hidden, None, head_writes(values, [1, 2], **more))
        assert torch.equal(hidden.view(torch.uint8), before.view(torch.uint8))


def test_a_head_is_blended_and_added_to_in_single_precision() -> None:
    hidden = halves(torch.float32)[0]
    before = hidden.clone()
    weight, adds = torch.tensor([[0.25], [0.5]]), torch.tensor([[False], [True]])
    write(hidden, None, head_writes(torch.ones(2, 2), [1, 1], weight=weight, adds=adds))
    assert torch.allclose(hidden[0, 2:4], 0.75 * before[0, 2:4] + 0.25)
    assert torch.allclose(hidden[2, 2:4], before[2, 2:4] + 0.5)


def test_each_argument_of_a_kernel_is_tapped_by_its_place() -> None:
    class Kernel(nn.Module):
        def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return torch.cat([q, k, v], 1)

    kernel, step = Kernel(), Step()
    hooks: tuple[Hook, ...] = ("q", "k", "v")
    install({0: {hook: Edge(kernel, "in", i) for i, hook in enumerate(hooks)}}, step)
    for i, hook in enumerate(hooks):
        step.work = {(hook, 0): SiteWork([], head_writes(torch.ones(1, 2), [0]))}
        out = kernel(*[torch.zeros(1, 2) for _ in hooks])
        assert out.view(3, 2).sum(1).tolist() == [2.0 * (j == i) for j in range(3)]


class Layer(nn.Module):
    """The shape of a decoder layer of vLLM's, with additions for modules."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.second, self.mlp = Norm(), Norm(), nn.Linear(WIDTH, WIDTH)

    def forward(self, hidden: Tensor, residual: Tensor | None) -> tuple[Tensor, Tensor]:
        if residual is None:
            residual = hidden
            hidden = self.norm(hidden)
        else:
            hidden, residual = self.norm(hidden, residual)
        hidden, residual = self.second(hidden * 0.5, residual)
        return self.mlp(hidden), residual


class Norm(nn.Module):
    def forward(
        self, hidden: Tensor, residual: Tensor | None = None
    ) -> Tensor | tuple[Tensor, Tensor]:
        if residual is None:
            return hidden * 2
        total = hidden + residual
        return total * 2, total


def edges(layer: Layer) -> dict[Hook, Edge]:
    return {
        "pre_attn": Edge(layer.norm, "in"),
        "post_attn": Edge(layer.second, "in"),
        "mlp_in": Edge(layer.mlp, "in"),
        "mlp_out": Edge(layer.mlp, "out"),
        "post_block": Edge(layer, "out"),
    }


def test_every_site_of_a_layer_is_tapped_and_idle_outside_a_step() -> None:
    layer, step, noted = Layer(), Step(), Noted()
    install({7: edges(layer)}, step)
    sites = [(h, 7) for h in ("pre_attn", "post_attn", "mlp_in", "mlp_out", "post_block")]
    rows = torch.arange(3)
    step.work = {s: SiteWork([SiteReads(rows, [0, 1, 2], noted)]) for s in sites}  # type: ignore[misc]
    stream = torch.randn(3, WIDTH)
    with torch.inference_mode():
        hidden, residual = layer(stream.clone(), None)
    kept = {site: values for site, _, values in noted.kept}
    assert list(kept) == sites
    assert torch.equal(kept["pre_attn", 7], stream)
    assert torch.equal(kept["post_attn", 7], stream + stream)  # the branch here is the stream
    assert torch.equal(kept["post_block", 7], hidden + residual)
    assert torch.equal(kept["mlp_out", 7], hidden)
    step.work = {}
    layer(stream.clone(), stream.clone())
    assert len(noted.kept) == 5


def test_a_write_entering_the_first_layer_reaches_the_residual_too() -> None:
    layer, step = Layer(), Step()
    install({0: edges(layer)}, step)
    step.work = {("pre_attn", 0): SiteWork([], writes(torch.full((2, WIDTH), 3.0)))}
    with torch.inference_mode():
        _, residual = layer(torch.randn(3, WIDTH), None)
    assert torch.equal(residual[[0, 2]], torch.full((2, WIDTH), 6.0))  # 3 and half of its norm
