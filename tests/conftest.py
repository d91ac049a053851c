"""Fixtures and settings of all tests. Nothing here imports torch before a test asks for it."""

import gc
import os
import signal
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.workers import pytest_sessionfinish, pytest_testnodedown, pytest_testnodeready

if TYPE_CHECKING:
    from sonde import Model

__all__ = ["pytest_sessionfinish", "pytest_testnodedown", "pytest_testnodeready"]

settings.register_profile("sonde", deadline=None)  # a busy machine is slow, not wrong
settings.load_profile("sonde")

# Tests started in the background may not hear Ctrl-C; what they start must, or it never ends.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--backend vllm` runs what is written for any backend on that one."""
    parser.addoption("--backend", choices=["torch", "vllm"], default="torch")


def pytest_configure(config: pytest.Config) -> None:
    """Where vLLM is installed, warnings are ignored: ours are errors where it is not."""
    if find_spec("vllm") is not None:
        config.addinivalue_line("filterwarnings", "ignore")
    if not hasattr(config, "workerinput"):
        _cap_products()


def _cap_products() -> None:
    """Tests multiply in low precision by themselves, which must not end their process either."""
    from sonde.backends.torch.cpu import instruction_sets

    if find_spec("torch") and instruction_sets.AMX in instruction_sets.cpu().sets:
        cap = instruction_sets.tried().cap
        if cap is not None:
            os.environ[instruction_sets.VARIABLE] = cap  # workers inherit it


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What collecting imports stays; to look for garbage in it again and again doubled the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    """At the end all is looked at again: extension modules complain of what is not cleaned up."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def smollm2() -> "Model":
    """The default model, for real. Tests that share it must leave nothing behind."""
    import sonde

    return sonde.load("smollm2")


@pytest.fixture(scope="session")
def smollm2_tokenizer(smollm2: "Model") -> Any:
    """Its tokenizer."""
    backend: Any = smollm2.backend
    return backend._loaded.tokenizer


@pytest.fixture
def three_threads() -> Iterator[None]:
    """Operations take three threads, whatever the machine has."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)
