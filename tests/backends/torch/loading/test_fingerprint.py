from pathlib import Path

import pytest
import torch
from torch import nn
from transformers import AutoModelForCausalLM

from sonde.backends.torch.loading import fingerprint as module
from sonde.backends.torch.loading.fingerprint import BLOCK, block_sums, fingerprint
from tests.tiny_model import tiny_llama


def add_one_ulp(weight: torch.Tensor, index: int) -> None:
    flat = weight.data.view(-1)
    flat[index] = torch.nextafter(flat[index], flat[index] + 1)


def test_it_is_sixteen_hex_digits_and_the_same_every_time() -> None:
    assert fingerprint(tiny_llama()) == fingerprint(tiny_llama())
    assert len(fingerprint(tiny_llama())) == len(bytes.fromhex(fingerprint(tiny_llama()))) * 2 == 16


def test_one_ulp_in_any_tensor_changes_it() -> None:
    model = tiny_llama()
    seen = {fingerprint(model)}
    for weight in model.parameters():
        add_one_ulp(weight, weight.numel() - 1)
        seen.add(fingerprint(model))
    assert len(seen) == 1 + len(list(model.parameters()))


@pytest.mark.parametrize("index", [0, BLOCK - 1, BLOCK, 2 * BLOCK + 7])
def test_one_ulp_anywhere_in_a_long_tensor_changes_it(index: int) -> None:
    model = nn.Bilinear(1, 2 * BLOCK + 8, 1)
    before = fingerprint(model)
    add_one_ulp(model.weight, index)
    assert fingerprint(model) != before


def test_two_flipped_signs_do_not_cancel() -> None:
    model = nn.Linear(64, 64)
    before = fingerprint(model)
    model.weight.data[0, :2] *= -1
    assert fingerprint(model) != before


def test_swapped_weights_change_it() -> None:
    model = tiny_llama()
    before = fingerprint(model)
    q = model.model.layers[0].self_attn.q_proj.weight.data
    q.copy_(q.flip(0))
    assert fingerprint(model) != before


def one_training_step(model: nn.Module) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    tokens = torch.arange(8)[None]
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()


def test_one_small_optimizer_step_changes_it() -> None:
    model = tiny_llama()
    before = fingerprint(model)
    one_training_step(model)
    assert fingerprint(model) != before


def test_one_small_optimizer_step_changes_it_when_weights_are_sampled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = tiny_llama()
    whole = fingerprint(model)
    monkeypatch.setattr(module, "FULL_BYTES", 1000)
    monkeypatch.setattr(module, "SAMPLED_WEIGHTS", 300)
    assert module.sampling_stride(model.parameters()) == 31
    before = fingerprint(model)
    assert before != whole
    one_training_step(model)
    assert fingerprint(model) != before


def test_all_of_a_large_model_has_another_name_than_a_sample_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = tiny_llama()
    assert fingerprint(model, whole=True) == fingerprint(model)
    monkeypatch.setattr(module, "FULL_BYTES", 1000)
    monkeypatch.setattr(module, "SAMPLED_WEIGHTS", 300)
    assert fingerprint(model, whole=True) != fingerprint(model)


def test_it_survives_saving_and_loading(tmp_path: Path) -> None:
    tiny_llama().save_pretrained(tmp_path)
    assert fingerprint(AutoModelForCausalLM.from_pretrained(tmp_path)) == fingerprint(tiny_llama())


def test_tied_weights_count_once() -> None:
    tied = tiny_llama(tied=True)
    assert len(dict(module.distinct_weights(tied))) == len(tied.state_dict()) - 1
    untied = tiny_llama(tied=False)
    assert len(dict(module.distinct_weights(untied))) == len(untied.state_dict())


def test_a_computed_buffer_is_not_in_it() -> None:
    model = tiny_llama()
    before = fingerprint(model)
    model.model.rotary_emb.inv_freq += 1
    assert fingerprint(model) == before


def test_dtype_and_shape_are_in_it() -> None:
    zeros = nn.Linear(4, 4, bias=False).requires_grad_(False)
    zeros.weight.data.zero_()
    before = fingerprint(zeros)
    zeros.weight.data = torch.zeros(2, 8)
    assert fingerprint(zeros) != before
    zeros.weight.data = torch.zeros(4, 4).bfloat16()
    assert fingerprint(zeros) != before


@pytest.mark.parametrize(
    "dtype",
    [torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.complex64],
)
def test_any_dtype_and_an_empty_tensor_have_sums(dtype: torch.dtype) -> None:
    assert block_sums(torch.ones(5).to(dtype), 1).shape == (1,)
    assert block_sums(torch.ones(0).to(dtype), 1).tolist() == [0]


def test_the_number_of_threads_does_not_change_it() -> None:
    model = nn.Linear(BLOCK, 8)
    threads = torch.get_num_threads()
    one = fingerprint(model)
    try:
        torch.set_num_threads(1)
        assert fingerprint(model) == one
    finally:
        torch.set_num_threads(threads)


def test_chunks_of_many_blocks_have_the_sums_of_single_ones() -> None:
    weight = torch.randn(5 * BLOCK + 3)
    bits = weight.view(torch.int32).to(torch.int64)
    together = (bits[: 5 * BLOCK].view(5, BLOCK) * module.keys()).sum(1)
    assert torch.equal(block_sums(weight, 1)[:5], together)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_it_is_the_same_on_the_gpu() -> None:
    model = nn.Sequential(nn.Linear(BLOCK, 80), tiny_llama())
    on_cpu = fingerprint(model)
    assert fingerprint(model.to("cuda")) == on_cpu
