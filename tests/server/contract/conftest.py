"""Real servers on free ports: one on a tiny model for all tests, and others as tests ask.

`--backend vllm` puts the same tiny model on the other backend; nothing else changes.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from sonde.backends.base import Backend
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.loading.fingerprint import fingerprint
from sonde.backends.torch.loading.loaded import Loaded
from tests.scripted import Scripted
from tests.server.tiny_server import Served, served
from tests.tiny_model import END, tiny_llama, tiny_tokenizer

LAYERS, WIDTH = 4, 128
"""Heads are 32 wide, the least that all backends have kernels for."""

Serving = Callable[..., Served]
Making = Callable[..., Backend]


def tokenizer_of(*, special: bool) -> PreTrainedTokenizerFast:
    """One that puts a special token first, as most do, or does not."""
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = "{% for each in messages %}{{ each.content }}{% endfor %}"
    if special:
        first = TemplateProcessing(single=f"{END} $A", special_tokens=[(END, 0)])
        tokenizer.backend_tokenizer.post_processor = first
    return tokenizer


def tiny_backend(*, special: bool = True, **options: Any) -> TorchBackend:
    """A tiny model on the default backend."""
    model, tokenizer = tiny_llama(layers=LAYERS, width=WIDTH), tokenizer_of(special=special)
    return TorchBackend(
        Loaded("tiny", model, tokenizer, fingerprint(model), "float32", "cpu"), **options
    )


@pytest.fixture(scope="package")
def making(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Making]:
    """Makes tiny models on the backend that was asked for; they share one engine if it has one."""
    if request.config.getoption("--backend") == "torch":
        yield tiny_backend
        return
    from tests.backends.vllm.engines import beside, saved, started

    directory = saved(tiny_llama(layers=LAYERS, width=WIDTH), tmp_path_factory.mktemp("tiny"))
    with started(directory) as first:
        yield lambda special=True, **options: beside(
            first, tokenizer_of(special=special), **options
        )


@pytest.fixture(scope="package")
def shared(
    making: Making, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, httpx.Client]]:
    """Servers on the tiny model, whose tokenizer adds a special token or does not."""
    with ExitStack() as stack:
        yield {
            kind: stack.enter_context(
                served(making(special=special), tmp_path_factory.mktemp(kind))
            ).http
            for kind, special in {"special": True, "plain": False}.items()
        }


def tidy(http: httpx.Client) -> Iterator[httpx.Client]:
    """The client, and afterwards an empty store, so that one failure does not make others."""
    yield http
    for run in http.get("/v1/patch_source").json()["runs"]:
        http.delete(f"/v1/patch_source/{run['run']}")


@pytest.fixture
def http(shared: dict[str, httpx.Client]) -> Iterator[httpx.Client]:
    """A client of the shared server on the tiny model."""
    yield from tidy(shared["special"])


@pytest.fixture
def plain_http(shared: dict[str, httpx.Client]) -> Iterator[httpx.Client]:
    """The same with a tokenizer that adds no special token."""
    yield from tidy(shared["plain"])


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    """Starts servers of a test's own: `serving(backend, heartbeat_seconds=0.1)`."""
    with ExitStack() as stack:
        count = iter(range(100))

        def start(backend: Backend, **network: Any) -> Served:
            return stack.enter_context(served(backend, tmp_path / str(next(count)), **network))

        yield start


@pytest.fixture
def scripted(serving: Serving) -> tuple[Scripted, Served]:
    """A scripted backend, and a server on it."""
    backend = Scripted()
    return backend, serving(backend)
