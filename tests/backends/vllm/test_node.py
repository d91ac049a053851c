"""An engine over two machines, played by two trees of processes that meet at a loopback address."""

import multiprocessing
import os
import socket
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from sonde.backends.vllm import node
from sonde.backends.vllm.node import answers, join, span
from tests.backends.vllm.test_parity import grid
from tests.backends.vllm.tiny import OPTIONS, on_torch, on_vllm, save

HEAD = "127.0.0.1"


def free_port() -> int:
    with socket.create_server((HEAD, 0)) as server:
        return int(server.getsockname()[1])


def test_the_head_is_node_0_and_the_others_meet_it_at_its_address() -> None:
    head, other = span(nodes=2, head="h", port=1), span(nodes=2, head="h", port=1, node=1)
    assert (head["node_rank"], other["node_rank"]) == (0, 1)
    assert {**head, "node_rank": 1} == other
    assert (head["nnodes"], head["master_addr"], head["master_port"]) == (2, "h", 1)
    assert head["distributed_executor_backend"] == "mp"


def test_a_head_that_ended_no_longer_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "EVERY_SECONDS", 0.0)
    with socket.create_server((HEAD, 0)) as server:
        port = server.getsockname()[1]
        assert answers(HEAD, port)
    assert not answers(HEAD, port)


def other_machine(directory: str, port: int) -> None:
    """The second tree: workers only, until the head ends."""
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")  # as `on_vllm` has it
    join(
        directory, node=1, nodes=2, head=HEAD, port=port, pipeline_parallel_size=2, options=OPTIONS
    )


@pytest.mark.vllm
@pytest.mark.slow
def test_two_machines_give_the_torch_backends_grid_and_the_second_ends_with_the_first(
    tmp_path: Path,
) -> None:
    saved, port = save("llama", tmp_path / "llama", num_hidden_layers=4), free_port()
    second = multiprocessing.get_context("spawn").Process(
        target=other_machine, args=(str(saved), port)
    )
    second.start()
    try:
        options = span(nodes=2, head=HEAD, port=port)
        with closing(on_vllm(saved, pipeline_parallel_size=2, options=options)) as backend:
            assert np.abs(grid(backend) - grid(on_torch(saved))).max() < 1e-4
            held = [set(rank) for rank in backend._driver.call("get_patch_source_manifests")]
            assert len(held) == 2
        second.join(240)
        assert second.exitcode == 0
    finally:
        second.kill()
