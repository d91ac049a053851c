"""Weights laid out once: the same numbers, the same bits for any number of rows, hooks kept."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from transformers.pytorch_utils import Conv1D

from sonde.backends.torch.cpu import products
from sonde.backends.torch.cpu.products import LaidOut, again, lay_out, worth_it
from tests.architectures import ARCHITECTURES
from tests.backends.torch.tiny import baseline, prompt, tiny_backend

COUNTS = [2, 3, 4, 5, 8, 20, 31, 100, 256, 300]


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("bias", [None, drawn(7, seed=2)])
def test_it_is_the_ordinary_product(bias: torch.Tensor | None) -> None:
    rows, weight = drawn(2, 9, 48), drawn(7, 48, seed=1)

    found = LaidOut(weight, bias)(rows)

    torch.testing.assert_close(found, F.linear(rows, weight, bias), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("inputs", "outputs"), [(32, 48), (97, 33), (576, 192), (1536, 576)])
def test_a_row_has_the_same_bits_for_any_number_of_rows_above_one(
    inputs: int, outputs: int
) -> None:
    """What the small padding of such models stands on; it holds on this machine, or not."""
    rows, product = drawn(300, inputs), LaidOut(drawn(outputs, inputs, seed=1))
    together = product(rows)

    for count in COUNTS:
        start = (7 * count) % (301 - count)
        assert product(rows[start : start + count]).equal(together[start : start + count])


def test_the_number_of_threads_makes_no_difference() -> None:
    rows, product = drawn(100, 576), LaidOut(drawn(192, 576, seed=1))
    before = torch.get_num_threads()
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        found.append(product(rows))
    torch.set_num_threads(before)

    assert found[0].equal(found[1])


@pytest.mark.parametrize("module", [nn.Linear(12, 5), nn.Linear(12, 5, bias=False), Conv1D(5, 12)])
def test_a_module_keeps_its_numbers_and_its_hooks(module: nn.Module) -> None:
    rows = drawn(1, 6, 12)
    expected = module(rows)
    seen: list[torch.Tensor] = []
    module.register_forward_hook(lambda _m, _a, out: seen.append(out))

    lay_out([nn.Sequential(module)])
    with torch.no_grad():
        found = module(rows)

    torch.testing.assert_close(found, expected.detach(), rtol=1e-5, atol=1e-5)
    assert seen[0] is found


def test_a_gradient_goes_the_ordinary_way() -> None:
    module = nn.Linear(12, 5)
    lay_out([nn.Sequential(module)])

    module(drawn(3, 12)).sum().backward()

    assert module.weight.grad is not None


@pytest.mark.parametrize("module", [nn.Linear(12, 5), Conv1D(5, 12)])
def test_training_after_it_was_laid_out_reaches_the_weights(module: nn.Linear | Conv1D) -> None:
    module.requires_grad_(False)
    lay_out([nn.Sequential(module)])
    module.requires_grad_(True)

    module(drawn(3, 12)).sum().backward()

    assert module.weight.grad is not None
    assert module.weight.grad.abs().sum() > 0


@pytest.mark.parametrize("module", [nn.Linear(12, 5), Conv1D(5, 12)])
@torch.no_grad()
def test_a_write_that_torch_counts_is_in_the_next_product(module: nn.Linear | Conv1D) -> None:
    rows = drawn(3, 12)
    lay_out([nn.Sequential(module)])
    before = module(rows)
    module.weight.mul_(2)
    assert not module(rows).equal(before)
    module.weight = nn.Parameter(torch.zeros_like(module.weight))
    module.bias.zero_()
    assert module(rows).equal(torch.zeros(3, 5))


@torch.no_grad()
def test_any_other_write_is_there_after_laying_out_again() -> None:
    module, rows = nn.Linear(12, 5, bias=False), drawn(3, 12)
    lay_out([nn.Sequential(module)])
    before = module(rows)
    module.weight.data.mul_(2)
    assert module(rows).equal(before)
    again(module)
    assert module(rows).equal(2 * before)


def test_what_is_not_worth_it_any_more_goes_the_ordinary_way() -> None:
    module = nn.Linear(12, 5)
    lay_out([nn.Sequential(module)])
    again(module.to(torch.bfloat16))
    assert "forward" not in vars(module)


def test_only_plain_linear_maps_are_touched() -> None:
    class Own(nn.Linear):
        pass

    own = Own(4, 4)
    lay_out([nn.Sequential(own, nn.LayerNorm(4))])

    assert "forward" not in vars(own)


def test_large_and_half_precision_models_keep_the_ordinary_product(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = ARCHITECTURES["llama"].build()
    size = sum(weight.numel() * 4 for weight in model.parameters())
    assert worth_it(model)
    assert not worth_it(ARCHITECTURES["llama"].build().to(torch.bfloat16))

    monkeypatch.setattr(products, "LARGEST", size)
    assert worth_it(model)
    monkeypatch.setattr(products, "LARGEST", size - 1)
    assert not worth_it(model)


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_a_model_says_the_same_either_way(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out = tiny_backend(name)
    monkeypatch.setattr(products, "LARGEST", 0)
    ordinary = tiny_backend(name)

    assert (laid_out._path.shape.multiple, ordinary._path.shape.multiple) == (4, 16)
    assert laid_out.describe().exact
    assert ordinary.describe().exact
    found, expected = (baseline(each, prompt(11, 1)) for each in (laid_out, ordinary))
    assert abs(found - expected).max() < 1e-4


@pytest.mark.skipif(not products.available(), reason="this torch has no oneDNN")
@pytest.mark.parametrize("turned", [False, True])
def test_a_product_used_once_is_the_product_with_the_same_bits_for_any_rows(turned: bool) -> None:
    rows, weight = torch.randn(100, 64), torch.randn(320, 64)
    if turned:
        weight = weight.t().contiguous().t()
    with torch.inference_mode():
        found = products.product(rows, weight)
        torch.testing.assert_close(found, rows @ weight.t())
        for count in (1, 2, 3, 16, 99):
            assert products.product(rows[:count], weight).equal(found[:count])
    assert products.rows_are_free(rows)
    assert not products.rows_are_free(rows.half())
