"""The other machines of an engine that spans several: workers only, told what to do by the head.

On the head, `load_backend(name, ..., options=span(nodes=2, head="10.0.0.1", port=29500))`; on each
other machine, with the same arguments, `join(name, node=1, ...)`, which returns when the head has
ended. Sonde must be installed on all of them; no code travels.

vLLM tells workers elsewhere nothing when its head ends, and they would wait for ever. So the place
where they met is looked at every few seconds: it is gone with the head.
"""

import socket
import time
from collections.abc import Callable
from typing import Any, Final

from sonde.backends.vllm.installed import check_installed
from sonde.backends.vllm.load import bound_threads, engine_config
from sonde.backends.vllm.merged import whole_checkpoint
from sonde.backends.vllm.starting import START_SECONDS, time_limit

EVERY_SECONDS: Final = 2.0
PATIENCE: Final = 3
"""Times in a row that nobody answers before the head is taken to have ended."""


def span(*, nodes: int, head: str, port: int, node: int = 0) -> dict[str, Any]:
    """Engine options of one of several machines; the head is node 0."""
    return {
        "nnodes": nodes,
        "node_rank": node,
        "master_addr": head,
        "master_port": port,
        "distributed_executor_backend": "mp",
    }


def join(
    name: str,
    *,
    node: int,
    nodes: int,
    head: str,
    port: int,
    dtype: str | None = None,
    tensor_parallel_size: int = 1,
    pipeline_parallel_size: int = 1,
    eager_on_demand: bool = False,
    start_seconds: float = START_SECONDS,
    options: dict[str, Any] | None = None,
    progress: Callable[[str], None] | None = None,
) -> None:
    """Run this machine's workers until the head ends. Options as on the head."""
    check_installed()
    from vllm.v1.executor.multiproc_executor import MultiprocExecutor

    config = engine_config(
        whole_checkpoint(name, progress or (lambda _line: None)),
        dtype=dtype,
        tensor_parallel_size=tensor_parallel_size,
        pipeline_parallel_size=pipeline_parallel_size,
        eager_on_demand=eager_on_demand,
        options={**(options or {}), **span(nodes=nodes, head=head, port=port, node=node)},
        headless=True,
    )
    with bound_threads(config), time_limit(start_seconds, nodes=nodes):
        workers = MultiprocExecutor(config, monitor_workers=False)
    workers.start_worker_monitor()  # ends all of them when one has died
    while not workers.is_failed and answers(head, port):
        time.sleep(EVERY_SECONDS)
    workers.shutdown()


def answers(head: str, port: int) -> bool:
    """Whether the head is still there."""
    for again in range(PATIENCE):
        try:
            socket.create_connection((head, port), timeout=10).close()
            return True
        except OSError:
            time.sleep(EVERY_SECONDS if again + 1 < PATIENCE else 0)
    return False
