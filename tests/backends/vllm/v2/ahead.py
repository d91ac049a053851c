"""Engines that schedule a step before they know what the last one gave, as vLLM does on GPUs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sonde.backends.vllm import load
from sonde.backends.vllm.backend import VllmBackend
from sonde.backends.vllm.options import choose_scheduler
from tests.backends.vllm.engines import started


@contextmanager
def started_ahead(directory: Path, **arguments: Any) -> Iterator[VllmBackend]:
    """A backend whose engine has one step more under way than it has stages."""

    def choose(config: Any) -> bool:
        config.scheduler_config.async_scheduling = True  # which vLLM never does on a CPU
        return choose_scheduler(config)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(load, "choose_scheduler", choose)
        with started(directory, **arguments) as backend:
            yield backend
