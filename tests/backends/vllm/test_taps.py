"""Reading and writing rows of a stream that is passed on in two halves."""

import pytest
import torch
from torch import Tensor, nn

from sonde.backends.vllm.adapters import Places
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


def writes(values: Tensor, weight: Tensor | None = None, owner: Noted | None = None) -> SiteWrites:
    rows = torch.arange(len(values)) * 2
    owners = tuple((owner, i) for i in range(len(values))) if owner is not None else ()
    return SiteWrites(rows, values, weight, owners)


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


def test_every_site_of_a_layer_is_tapped_and_idle_outside_a_step() -> None:
    layer, step, noted = Layer(), Step(), Noted()
    places = Places(layer, layer.norm, layer.second, layer.mlp, layer.mlp)
    install({7: places}, step)
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
    install({0: Places(layer, layer.norm, layer.second, layer.mlp, layer.mlp)}, step)
    step.work = {("pre_attn", 0): SiteWork([], writes(torch.full((2, WIDTH), 3.0)))}
    with torch.inference_mode():
        _, residual = layer(torch.randn(3, WIDTH), None)
    assert torch.equal(residual[[0, 2]], torch.full((2, WIDTH), 6.0))  # 3 and half of its norm
