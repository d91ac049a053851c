"""Every family of the adapter table gives the torch backend's numbers, at every hook."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from sonde.backends.base import Backend, FromRun, Patch, Row
from sonde.schema import HOOKS
from tests.backends.suite import CLEAN, CORRUPT
from tests.backends.vllm.tiny import FAMILIES, on_torch, on_vllm, save

pytestmark = pytest.mark.vllm

TOLERANCE = {"gemma2": 0.05}
"""In log-probability; else 1e-4. The soft cap of vLLM's attention on a CPU is an approximation:
unpatched, too, Gemma 2 differs from transformers by some thousandths."""


def cells(n_layers: int, width: int, positions: Sequence[int]) -> list[Row]:
    """All sites, replaced and blended, and at every hook a masked mean of three positions."""
    rows = [
        Row((Patch(hook, layer, p, FromRun("clean", (p,)), alpha),))
        for alpha in (1.0, 0.3)
        for hook in HOOKS
        for layer in range(n_layers)
        for p in positions
    ]
    mask = np.linspace(0, 1, width).astype(np.float32)
    mean = FromRun("clean", (0, 1, 3))
    return [*rows, *(Row((Patch(hook, 1, 2, mean, 0.7, mask),)) for hook in HOOKS)]


def grid(backend: Backend) -> np.ndarray:
    """Log-probabilities of some tokens in every cell; the baseline in the last row."""
    model = backend.describe()
    clean, corrupt = backend.tokenize(CLEAN), backend.tokenize(CORRUPT)
    backend.capture("clean", clean, HOOKS, range(model.n_layers), range(len(clean)))
    rows = cells(model.n_layers, model.width, range(min(len(clean), len(corrupt))))
    rows.append(Row(computed=True))
    out = np.full((len(rows), 3), np.nan)
    for part in backend.score(corrupt, rows, [5, 50, 17]):
        out[list(part.rows)] = part.logprobs
    return out


@pytest.mark.parametrize("family", FAMILIES)
def test_a_familys_grid_is_the_torch_backends(family: str, tmp_path: Path) -> None:
    directory = save(family, tmp_path)
    expected = grid(on_torch(directory))
    with closing(on_vllm(directory)) as backend:
        found = grid(backend)
    assert np.abs(found - expected).max() < TOLERANCE.get(family, 1e-4)
    assert np.abs(expected[:-1] - expected[-1]).max() > 1  # there is something to be wrong about
