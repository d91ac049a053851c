"""Chunks and shares change nothing but memory and time."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sonde.errors import RequestTooLarge
from sonde.sae.activations import Activation, JumpRelu, TopK
from sonde.sae.encode import (
    BYTES,
    ROWS,
    SHARE,
    chunk_rows,
    decode_rows,
    default_budget,
    encode_rows,
    pre_activations,
)

D_IN, D_SAE = 24, 96
DRAW = torch.Generator().manual_seed(0)
Y = torch.randn(300, D_IN, generator=DRAW)
W_ENC, B_ENC = torch.randn(D_IN, D_SAE, generator=DRAW), torch.randn(D_SAE, generator=DRAW)
SMALLEST = ROWS * BYTES * D_SAE
ACTIVATIONS: list[Activation] = [TopK(7), JumpRelu(torch.full((D_SAE,), 4.0))]


@given(
    tokens=st.integers(0, 300),
    budget=st.integers(SMALLEST, 40 * SMALLEST),
    activation=st.sampled_from(ACTIVATIONS),
)
def test_any_budget_gives_the_same_bits(tokens: int, budget: int, activation: Activation) -> None:
    whole = encode_rows(Y, W_ENC, B_ENC, activation, 10**9)

    found = encode_rows(Y[:tokens], W_ENC, B_ENC, activation, budget)

    end = int(whole.offsets[tokens])
    assert found.offsets.equal(whole.offsets[: tokens + 1])
    assert found.indices.equal(whole.indices[:end])
    assert found.values.equal(whole.values[:end])


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda activation: activation.kind)
def test_any_number_of_threads_gives_the_same_bits(activation: Activation) -> None:
    y = torch.cat([Y, Y])
    assert len(y) > 3 * SHARE
    shared = encode_rows(y, W_ENC, B_ENC, activation, 10**9)
    assert torch.get_num_threads() == 3
    torch.set_num_threads(1)

    alone = encode_rows(y, W_ENC, B_ENC, activation, 10**9)

    assert shared.values.equal(alone.values)
    assert shared.indices.equal(alone.indices)
    assert shared.offsets.equal(alone.offsets)


@given(budget=st.integers(SMALLEST, 10**7), threads=st.integers(1, 8), d_sae=st.integers(1, 96))
def test_all_chunks_in_work_together_fit_the_budget(budget: int, threads: int, d_sae: int) -> None:
    if budget < ROWS * BYTES * d_sae * threads:
        with pytest.raises(RequestTooLarge) as refused:
            chunk_rows(d_sae, budget, threads)
        assert chunk_rows(d_sae, refused.value.needed_bytes, threads) == ROWS
    else:
        rows = chunk_rows(d_sae, budget, threads)
        assert rows % ROWS == 0
        assert rows * BYTES * d_sae * threads <= budget


@pytest.mark.usefixtures("three_threads")
def test_a_small_budget_takes_fewer_threads_before_it_is_refused() -> None:
    y = torch.cat([Y, Y])

    assert len(encode_rows(y, W_ENC, B_ENC, TopK(3), SMALLEST)) == 600
    with pytest.raises(RequestTooLarge, match="raise budget_bytes"):
        encode_rows(y, W_ENC, B_ENC, TopK(3), SMALLEST - 1)


def test_a_block_is_never_larger_than_asked_and_always_the_same_memory() -> None:
    blocks = list(pre_activations(Y, W_ENC, B_ENC, 32))
    places = {block.data_ptr() for block in blocks}

    assert max(len(block) for block in blocks) == 32
    assert sum(len(block) for block in blocks) == 300
    assert len(places) == 1


def test_pre_activations_are_the_product_and_the_bias() -> None:
    found = torch.cat([block.clone() for block in pre_activations(Y, W_ENC, B_ENC, 64)])

    expected = Y.double() @ W_ENC.double() + B_ENC.double()
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda activation: activation.kind)
@pytest.mark.parametrize("tokens", [0, 1, 50])
def test_decoding_is_the_dense_product_without_the_dense_matrix(
    activation: Activation, tokens: int
) -> None:
    W_dec, b_dec = torch.randn(D_SAE, D_IN, generator=DRAW), torch.randn(D_IN, generator=DRAW)
    active = encode_rows(Y[:tokens], W_ENC, B_ENC, activation, 10**9)

    expected = active.dense(D_SAE).double() @ W_dec.double() + b_dec.double()

    found = decode_rows(active, W_dec, b_dec)
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-4)


def test_a_device_has_its_own_budget() -> None:
    cpu, cuda = torch.device("cpu"), torch.device("cuda")

    assert default_budget(cpu, 4096) < default_budget(cuda, 4096)
    assert chunk_rows(65_536, default_budget(cpu, 65_536)) >= 512


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda activation: activation.kind)
def test_a_gpu_gives_what_a_cpu_gives(activation: Activation) -> None:
    device = torch.device("cuda")
    moved = activation.with_tensors(
        {n: each.to(device) for n, each in activation.tensors().items()}
    )
    here = encode_rows(Y, W_ENC, B_ENC, activation, 10**9)

    there = encode_rows(Y.to(device), W_ENC.to(device), B_ENC.to(device), moved, 10**9)

    torch.testing.assert_close(there.dense(D_SAE).cpu(), here.dense(D_SAE), rtol=1e-4, atol=1e-4)
