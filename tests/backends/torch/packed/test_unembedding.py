"""What follows the last layer is done as the model does it, a slice of the vocabulary at a time."""

import math

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel

from sonde.backends.torch.cpu.threads import one_thread_each
from sonde.backends.torch.packed import unembedding as module
from sonde.backends.torch.packed.rows import CPU_ROWS
from sonde.backends.torch.packed.unembedding import PEEK, Unembedding, log_sum_exp
from sonde.backends.torch.path import choose_path
from tests.architectures import ARCHITECTURES, VOCABULARY
from tests.backends.torch.tiny import prompt

INF = math.inf
NAMES = ["llama", "gemma2", "gpt2", "neox_parallel", "mamba", "bloom"]
"""Gemma 2 soft-caps its logits; the last returns tuples from its layers."""


def ordinary(model: PreTrainedModel, tokens: list[int]) -> tuple[Tensor, Tensor]:
    """The last layer's output and the logits, both of every position."""
    seen: list[Tensor] = []
    name = ARCHITECTURES_BY_MODEL[type(model).__name__]
    last = ARCHITECTURES[name].parts.layers_of(model)[-1]

    def note(_m: object, _a: object, out: Tensor | tuple[Tensor, ...]) -> None:
        seen.append(out if isinstance(out, Tensor) else out[0])

    handle = last.register_forward_hook(note)
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0]
    handle.remove()
    return seen[0][0], logits


ARCHITECTURES_BY_MODEL = {type(ARCHITECTURES[name].build()).__name__: name for name in NAMES}


def unembedding_of(model: PreTrainedModel) -> Unembedding:
    return Unembedding(model, CPU_ROWS, 2 if type(model).__name__.startswith("Bloom") else None)


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_log_probabilities_are_the_models_own(name: str) -> None:
    model = ARCHITECTURES[name].build()
    residuals, logits = ordinary(model, prompt(11, 1))

    found = unembedding_of(model).logprobs(residuals, [0, 50, 96])

    expected = logits.log_softmax(-1)[:, [0, 50, 96]]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("slice_", [1, 10, VOCABULARY])
@torch.no_grad()
def test_slices_make_no_difference_to_what_comes_out(
    slice_: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ARCHITECTURES["gpt2"].build()
    residuals, logits = ordinary(model, prompt(5, 1))
    monkeypatch.setattr(module, "CPU_SLICE", slice_)

    all_logits, normaliser = Unembedding(model, CPU_ROWS).distribution(residuals)

    torch.testing.assert_close(all_logits, logits, rtol=0, atol=1e-5)
    torch.testing.assert_close(normaliser, logits.logsumexp(-1), rtol=0, atol=1e-5)


@torch.no_grad()
def test_a_row_has_the_same_bits_however_it_is_batched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also across the groups that rows are graded in."""
    monkeypatch.setattr(module, "CPU_ROWS", 48)
    model = ARCHITECTURES["llama"].build()
    unembedding, rows = Unembedding(model, CPU_ROWS), torch.randn(100, 32)
    together = unembedding.logprobs(rows, [5, 50])

    alone = torch.cat([unembedding.logprobs(row[None], [5, 50]) for row in rows])

    assert alone.equal(together)


@pytest.mark.usefixtures("three_threads")
@torch.no_grad()
def test_threads_share_the_vocabulary_and_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model itself then computes only a peek of its logits."""
    monkeypatch.setattr(module, "CPU_SLICE", 10)
    model = ARCHITECTURES["llama"].build()
    unembedding, rows = Unembedding(model, CPU_ROWS), torch.randn(7, 32)
    with one_thread_each():
        expected = unembedding.logprobs(rows, [5, 50])

    assert unembedding.logprobs(rows, [5, 50]).equal(expected)
    assert unembedding._unembed.made.shape[-1] == PEEK.stop


@torch.no_grad()
def test_both_ways_to_a_log_probability_have_the_same_bits() -> None:
    """The sweep grades a few ids; generation needs all of them."""
    unembedding = Unembedding(ARCHITECTURES["llama"].build(), CPU_ROWS)
    row = torch.randn(1, 32)

    logits, normaliser = unembedding.distribution(row)

    assert unembedding.logprobs(row, range(VOCABULARY)).equal(logits - normaliser[:, None])


@torch.no_grad()
def test_the_model_keeps_its_layers() -> None:
    model = ARCHITECTURES["llama"].build()
    before = [id(module) for module in model.modules()]
    _, expected = ordinary(model, prompt(5, 1))

    Unembedding(model, CPU_ROWS).logprobs(torch.randn(2, 32), [5])

    assert [id(module) for module in model.modules()] == before
    assert ordinary(model, prompt(5, 1))[1].equal(expected)


def test_it_shares_the_models_weights() -> None:
    """A second copy of a large unembedding would not fit."""
    model = ARCHITECTURES["llama"].build()
    own = {weight.data_ptr() for weight in model.parameters()}

    shell = Unembedding(model, CPU_ROWS)._shell

    assert {weight.data_ptr() for weight in shell.parameters()} <= own


@torch.no_grad()
def test_the_path_of_a_model_uses_it_as_its_layers_return() -> None:
    assert choose_path(ARCHITECTURES["bloom"].build()).layout.tuple_of == 2
    assert choose_path(ARCHITECTURES["llama"].build()).layout.tuple_of is None


def test_a_normaliser_is_as_exact_as_torchs() -> None:
    logits = torch.randn(64, 2048, generator=torch.Generator().manual_seed(3)) * 8
    exact = logits.double().logsumexp(-1)

    ours, torchs = (log_sum_exp(logits) - exact), (logits.logsumexp(-1) - exact)

    assert ours.abs().max() <= torchs.abs().max() + 1e-6


@pytest.mark.parametrize("logits", [[-1.0, -INF], [-INF, -INF], [INF, 1.0], [3e38, -3e38]])
def test_a_normaliser_of_infinities_is_torchs(logits: list[float]) -> None:
    assert log_sum_exp(torch.tensor([logits])).tolist() == [
        float(torch.tensor(logits).logsumexp(-1))
    ]


def test_a_logit_that_is_no_number_leaves_none() -> None:
    assert log_sum_exp(torch.tensor([[1.0, math.nan]])).isnan().all()


@pytest.mark.parametrize("width", [1, 7, 25, 48, 97])
def test_a_normaliser_has_the_same_bits_whatever_rows_follow(width: int) -> None:
    """Any number of them: registers that are not filled are computed by another function."""
    logits = 5 * torch.randn(200, width, generator=torch.Generator().manual_seed(width))
    whole = log_sum_exp(logits)
    for n in range(1, 200):
        assert log_sum_exp(logits[:n]).equal(whole[:n])
