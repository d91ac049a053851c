"""Two stages of a pipeline on the V2 model runner, three steps under way at once."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sonde.backends.torch.backend import TorchBackend
from sonde.backends.vllm.backend import VllmBackend
from tests.backends.vllm.test_ranks import cells
from tests.backends.vllm.test_traffic import LAYERS, apart, asked, together, tokens_of
from tests.backends.vllm.v2.ahead import started_ahead

pytestmark = [pytest.mark.vllm, pytest.mark.slow]


@pytest.fixture(scope="module")
def backend(directory: Path) -> Iterator[VllmBackend]:
    with started_ahead(directory, pipeline_parallel_size=2) as made:
        yield made


def test_both_stages_run_it_and_the_pipeline_is_full(backend: VllmBackend) -> None:
    assert [rank["runner"] for rank in backend._driver.call("sonde_report", [])] == ["V2", "V2"]
    assert backend._driver.config.max_concurrent_batches == 3


def test_every_cell_is_the_torch_backends(backend: VllmBackend, reference: TorchBackend) -> None:
    layers = range(LAYERS)
    assert np.abs(cells(backend, layers) - cells(reference, layers)).max() < 1e-4


def test_patched_and_unpatched_requests_get_the_torch_backends_answers(
    backend: VllmBackend, reference: TorchBackend
) -> None:
    requests = [asked(seed, patched=seed % 2 == 0) for seed in range(8)]
    for request, found in zip(requests, together(backend, requests, 8), strict=True):
        expected = [(token.token, token.logprobs) for token in reference.generate(request)]
        assert tokens_of(found) == tokens_of(expected)
        assert apart(found, expected) < 1e-3
