"""Several workers: the same grid, captures where they were made, and drops that reach them all."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sonde.backends.base import FromVector, Patch, Row
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.vllm.backend import VllmBackend
from sonde.schema import HOOKS
from tests.backends.vllm.test_parity import grid
from tests.backends.vllm.tiny import on_torch, on_vllm, save

pytestmark = [pytest.mark.vllm, pytest.mark.slow]

SHAPE = {
    "hidden_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 3,
    "num_key_value_heads": 3,
}
PROMPT = [5, 17, 200, 31, 8, 99, 42, 150, 3, 77]
RANKS = {
    "pipeline": {"pipeline_parallel_size": 2},
    "tensor": {"tensor_parallel_size": 3},
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save("llama", tmp_path_factory.mktemp("llama"), **SHAPE)


@pytest.fixture(scope="module")
def reference(saved: Path) -> TorchBackend:
    return on_torch(saved)


@pytest.fixture(scope="module", params=RANKS)
def over(request: pytest.FixtureRequest, saved: Path) -> Iterator[tuple[str, VllmBackend]]:
    with closing(on_vllm(saved, **RANKS[request.param])) as backend:
        yield request.param, backend


def test_the_grid_is_the_torch_backends(
    over: tuple[str, VllmBackend], reference: TorchBackend
) -> None:
    assert np.abs(grid(over[1]) - grid(reference)).max() < 1e-4


def test_each_rank_holds_what_it_computes_and_all_let_go_of_it(
    over: tuple[str, VllmBackend],
) -> None:
    kind, backend = over
    for run in backend.manifests():
        backend.drop(run)
    made = backend.capture("run", PROMPT, HOOKS, range(4), range(len(PROMPT)))
    held: list[dict[str, Any]] = backend._driver.call("get_patch_source_manifests")
    layers = [next(iter(rank.values()))["layers"] for rank in held]
    assert layers == ([[0, 1], [2, 3]] if kind == "pipeline" else [[0, 1, 2, 3]] * 3)
    assert made.bytes == sum(next(iter(rank.values()))["bytes"] for rank in held)
    one = 4 * backend.describe().width * len(HOOKS) * 4 * len(PROMPT)
    assert made.bytes == (one if kind == "pipeline" else 3 * one)
    backend.lease("run", "me")
    assert next(iter(backend.rank_manifests().values()))["leased"]
    assert backend.drop("run")
    assert backend._driver.call("get_patch_source_manifests") == [{}] * len(held)


@pytest.mark.parametrize(("read_at", "write_at"), [(3, 0), (0, 3)])
def test_what_one_rank_holds_can_be_written_on_another(
    over: tuple[str, VllmBackend], reference: TorchBackend, read_at: int, write_at: int
) -> None:
    _, backend = over
    backend.capture("run", PROMPT, ["post_block"], [read_at], [4])
    taken = backend.read("run", "post_block", read_at, [4])[0]
    row = Row((Patch("pre_attn", write_at, 7, FromVector(taken)),))
    ours = list(backend.score(PROMPT, [row], [5, 50]))[-1].logprobs
    theirs = list(reference.score(PROMPT, [row], [5, 50]))[-1].logprobs
    assert ours == pytest.approx(theirs, abs=1e-4)
