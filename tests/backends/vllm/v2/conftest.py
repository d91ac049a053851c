"""These tests are there only where vLLM is told to take its V2 runner, as `make test-vllm` does."""

import os
from pathlib import Path

import pytest

from sonde.backends.torch.backend import TorchBackend
from tests.backends.vllm.engines import saved
from tests.backends.vllm.test_traffic import LAYERS, WIDTH
from tests.backends.vllm.tiny import on_torch
from tests.tiny_model import tiny_llama

if os.environ.get("VLLM_USE_V2_MODEL_RUNNER") != "1":
    collect_ignore_glob = ["test_*"]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tiny_llama(layers=LAYERS, width=WIDTH), tmp_path_factory.mktemp("v2"))


@pytest.fixture(scope="module")
def reference(directory: Path) -> TorchBackend:
    return on_torch(directory)
