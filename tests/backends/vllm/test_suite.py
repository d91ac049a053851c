"""The vLLM backend satisfies the identities of any backend, as the torch backend does."""

from collections.abc import Callable, Iterator

import pytest

from sonde.backends.base import Backend
from sonde.backends.vllm.backend import VllmBackend
from tests.backends.completing import CompletionIdentities
from tests.backends.vllm.engines import beside, saved, started
from tests.tiny_model import tiny_llama, tiny_tokenizer

pytestmark = pytest.mark.vllm


class OnOneEngine(CompletionIdentities):
    """All identities on one engine; each test has a store of its own."""

    dtype = "float32"

    @pytest.fixture(scope="class")
    def engine(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmBackend]:
        directory = saved(tiny_llama(layers=3, width=128), tmp_path_factory.mktemp("tiny"))
        with started(directory, dtype=self.dtype) as backend:
            yield backend

    @pytest.fixture
    def backend(self, engine: VllmBackend) -> Backend:
        return beside(engine, tiny_tokenizer())

    @pytest.fixture
    def within(self, engine: VllmBackend) -> Callable[[int], Backend]:
        return lambda room: beside(engine, tiny_tokenizer(), source_budget=room)


class TestSinglePrecision(OnOneEngine):
    tolerance = 1e-4


class TestHalfPrecision(OnOneEngine):
    """Against itself in another batch, not against single precision."""

    dtype = "bfloat16"
    tolerance = 0.05
