"""Every family of the adapter table gives the torch backend's numbers, at every hook."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from sonde.backends.base import (
    Backend,
    FromRun,
    MeanOf,
    Minus,
    Row,
    Site,
    Write,
    write_at,
)
from sonde.schema import LAYER_HOOKS
from tests.backends.suite import CLEAN, CORRUPT
from tests.backends.vllm.asking import scored
from tests.backends.vllm.head_cells import HOOKS, head_cells, mixed_cells
from tests.backends.vllm.tiny import FAMILIES, on_torch, on_vllm, save

pytestmark = pytest.mark.vllm

HEADS = {"hidden_size": 128, "num_attention_heads": 4, "num_key_value_heads": 2}
"""Grouped, and more than one group."""
WAYS: tuple[tuple[Literal["set", "add"], float], ...] = (("set", 1.0), ("set", 0.3), ("add", 0.4))


def cells(n_layers: int, width: int, positions: Sequence[int]) -> list[Row]:
    """All sites, set, blended and added; at every hook also a masked mean of three positions, a
    difference of two at several positions, and a source at another hook and layer.
    """
    rows = [
        Row((Write(Site(hook, layer, (p,)), FromRun("clean", (p,)), alpha, how=how),))
        for how, alpha in WAYS
        for hook in LAYER_HOOKS
        for layer in range(n_layers)
        for p in positions
    ]
    mask = np.linspace(0, 1, width).astype(np.float32)
    mean = MeanOf(tuple(FromRun("clean", (p,)) for p in (0, 1, 3)))
    apart = Minus(FromRun("clean", (3, 5)), FromRun("clean", (1, 2)))
    for hook in LAYER_HOOKS:
        rows.append(Row((write_at(hook, 1, 2, mean, 0.7, mask),)))
        rows.append(Row((Write(Site(hook, 0, (2, 4)), apart, 0.5, how="add"),)))
        other = FromRun("clean", (1, 3), hook="mlp_out", layer=n_layers - 1)
        rows.append(Row((Write(Site(hook, 1, (3, 4)), other),)))
    return rows


def grid(backend: Backend) -> np.ndarray:
    """Log-probabilities of some tokens in every cell; the baseline in the last row."""
    model = backend.describe()
    clean, corrupt = backend.tokenize(CLEAN), backend.tokenize(CORRUPT)
    layers, n = range(model.n_layers), min(len(clean), len(corrupt))
    backend.capture("clean", clean, [*LAYER_HOOKS, *HOOKS], layers, range(len(clean)))
    rows = cells(model.n_layers, model.width, range(n))
    rows += [*head_cells(model, layers, n), *mixed_cells(model, n)]
    rows.append(Row(computed=True))
    return scored(backend, corrupt, rows, [5, 50, 17])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_familys_grid_is_the_torch_backends(family: str, tmp_path: Path) -> None:
    directory = save(family, tmp_path, **HEADS)
    expected = grid(on_torch(directory))
    with closing(on_vllm(directory)) as backend:
        found = grid(backend)
    assert np.abs(found - expected).max() < 1e-4
    assert np.abs(expected[:-1] - expected[-1]).max() > 1  # there is something to be wrong about
