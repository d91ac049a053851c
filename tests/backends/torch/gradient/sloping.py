"""Slopes of rows, and models of which the truth is known."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sonde.backends.base import Column, FromRun, Readout, Row, Site, Slope, Work, Write
from sonde.backends.torch.backend import TorchBackend
from sonde.schema import HOOK_TABLE, Hook
from tests.backends.torch.tiny import IDS, backend_of
from tests.tiny_model import tiny_llama

LOGITS = Readout((Column("logit", IDS[0]), Column("logit", IDS[1])))
DIFFERENCE = ((1.0, -1.0),)


def linearised(
    backend: TorchBackend,
    tokens: Sequence[int],
    rows: Sequence[Row],
    *,
    toward: Sequence[int] | None = None,
    steps: int = 1,
    readout: Readout = LOGITS,
    weights: tuple[tuple[float, ...], ...] = DIFFERENCE,
) -> NDArray[np.float64]:
    """How far each row moves the first sum, to first order."""
    asked = Slope(Work(tokens, rows, readout), weights, toward, steps)
    [scores] = backend.linearise([asked])
    assert scores.rows == tuple(range(len(rows)))
    return scores.values[:, 0]


def exactly(
    backend: TorchBackend, tokens: Sequence[int], rows: Sequence[Row], readout: Readout = LOGITS
) -> NDArray[np.float64]:
    """How far each row moves the first column beyond the second, by running it."""
    out = np.full((len(rows) + 1, len(readout.columns)), np.nan)
    for part in backend.score([Work(tokens, [Row(computed=True), *rows], readout)]):
        out[list(part.rows)] = part.values
    moved = out[1:] - out[0]
    return moved[:, 0] - (moved[:, 1] if moved.shape[1] > 1 else 0)


def gap(backend: TorchBackend, clean: Sequence[int], corrupt: Sequence[int]) -> float:
    """How far apart the prompts are in what is followed."""
    one, zero = backend.baselines([(clean, LOGITS), (corrupt, LOGITS)], [])
    return (one[0] - one[1]) - (zero[0] - zero[1])


def everywhere(
    backend: TorchBackend,
    run: str,
    hooks: Sequence[Hook],
    positions: Sequence[int],
    alpha: float = 1.0,
) -> list[Row]:
    """A row for every layer, head and position of some hooks, taken from a run."""
    model = backend.describe()
    rows = []
    for hook in hooks:
        heads: Sequence[int | None] = [None]
        if HOOK_TABLE[hook].per != "model":
            assert model.heads is not None
            heads = range(model.heads.count(hook))
        for layer in range(model.n_layers):
            for head in heads:
                for at in positions:
                    site = Site(hook, layer, (at,), head)
                    rows.append(Row((Write(site, FromRun(run, (at,)), alpha),)))
    return rows


class Straight(nn.Module):
    """An MLP that is a matrix."""

    def __init__(self, width: int, seed: int) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(seed)
        weight = torch.randn(width, width, generator=draw) * 0.2
        self.map = nn.Linear(width, width, bias=False)
        self.map.weight.data.copy_(weight)

    def forward(self, rows: Tensor) -> Tensor:
        out: Tensor = self.map(rows)
        return out


def linear_backend() -> TorchBackend:
    """Linear in its embeddings: no norms, even attention, MLPs that are matrices."""
    model = tiny_llama(3, layers=3)
    model.model.norm = nn.Identity()
    for number, layer in enumerate(model.model.layers):
        layer.input_layernorm = nn.Identity()
        layer.post_attention_layernorm = nn.Identity()
        layer.self_attn.q_proj.weight.data.zero_()
        layer.mlp = Straight(model.config.hidden_size, number)
    return backend_of(model.requires_grad_(False))


def saturated_backend() -> TorchBackend:
    """A model whose heads attend to one key each: what they look for has no slope."""
    model = tiny_llama(5, layers=2)
    for layer in model.model.layers:
        layer.self_attn.q_proj.weight.data *= 400
    return backend_of(model.requires_grad_(False))
