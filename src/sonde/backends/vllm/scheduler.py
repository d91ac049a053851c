"""Keep patched runs and vLLM's prefix cache apart, and let them share what is truly common.

vLLM names each block of the cache by a hash of all tokens up to its end. A patch changes what the
blocks hold without changing a token: a patched request would read unpatched keys and values (and
skip its patch), and leave its own to everybody. So the blocks of a patched request, from that of
its lowest patched position on, get names that nobody else can have. Everything below keeps its
name: the common part of a sweep's prompt is computed once.

The worst that a mistake here can do is to miss what could have been shared.
"""

from collections.abc import Callable
from hashlib import sha256
from typing import Any

from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler

from sonde.backends.vllm.spec import read_spec


def keep_apart(request: Any, block_size: int) -> None:
    """Give a patched request's blocks names of their own; leave any other request alone."""
    params = request.sampling_params
    spec = None if params is None else read_spec(params.extra_args)
    first = None if spec is None else spec.first_position()
    if spec is None or first is None or request._block_hasher is None:
        return
    request._block_hasher = own_names(request._block_hasher, first // block_size, spec.uid)
    request.block_hashes.clear()
    request.update_block_hashes()


def own_names(
    names: Callable[[Any], list[Any]], first: int, uid: str
) -> Callable[[Any], list[Any]]:
    """Names of a request's new blocks, its own from block `first` on."""

    def named(request: Any) -> list[Any]:
        done = len(request.block_hashes)
        return [
            name if done + i < first else type(name)(_own(name, uid))
            for i, name in enumerate(names(request))
        ]

    return named


def _own(name: bytes, uid: str) -> bytes:
    return sha256(name + uid.encode()).digest()[: len(name)]


class SharingScheduler(Scheduler):  # type: ignore[misc]
    """vLLM's scheduler, with patched requests kept apart."""

    def add_request(self, request: Any) -> None:
        """As before, after its blocks have their names."""
        keep_apart(request, self.hash_block_size)
        super().add_request(request)


class SharingAsyncScheduler(AsyncScheduler):  # type: ignore[misc]
    """The same for vLLM's asynchronous scheduler, which GPUs use."""

    def add_request(self, request: Any) -> None:
        """As before, after its blocks have their names."""
        keep_apart(request, self.hash_block_size)
        super().add_request(request)
