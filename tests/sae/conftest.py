"""Tiny matrices gain nothing from threads, and on a busy machine threads wait for one another."""

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True, scope="module")
def _one_thread(request: pytest.FixtureRequest) -> Iterator[None]:
    before = torch.get_num_threads()
    if not request.module.__name__.endswith("test_shipped"):
        torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
