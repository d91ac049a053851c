"""From the last residual to log-probabilities, by the model's own forward pass without its layers.

Final norms, scales and soft-caps differ between models. A shallow copy of the model, sharing every
parameter, has its decoder layers replaced by one that returns the rows it was given; what the model
does after its layers is then done as the model does it.
"""

import copy
from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from sonde.backends.torch.layout import find_layers
from sonde.backends.torch.rows import pad_rows

ROWS: Final = 64
"""Rows whose logits exist at a time: the vocabulary is wide."""


class Head:
    """The model after its last layer."""

    def __init__(self, model: PreTrainedModel) -> None:
        """Build the layerless copy; `model` itself is not touched."""
        self._given: Tensor | None = None
        self._shell = _without_layers(model, self._inject)

    def _inject(self, hidden: Tensor, *_args: Any, **_kwargs: Any) -> Tensor:
        assert self._given is not None
        return self._given

    def logits(self, final: Tensor) -> Tensor:
        """Residuals [n, width] -> logits [n, vocabulary]."""
        self._given = final.unsqueeze(1)
        dummy = torch.zeros(final.shape[0], 1, dtype=torch.int64, device=final.device)
        try:
            out: Tensor = self._shell(input_ids=dummy, use_cache=False).logits
        finally:
            self._given = None
        return out[:, 0]

    def logprobs(self, final: Tensor, token_ids: Sequence[int]) -> Tensor:
        """Residuals [n, width] -> log-probabilities of the ids, [n, ids] in float32."""
        ids = torch.tensor(list(token_ids), device=final.device)
        parts = []
        for start in range(0, final.shape[0], ROWS):
            rows = final[start : start + ROWS]
            logits = self.logits(pad_rows(rows)).float()
            chosen = logits.index_select(1, ids) - torch.logsumexp(logits, -1, keepdim=True)
            parts.append(chosen[: rows.shape[0]])
        return torch.cat(parts)


def _without_layers(model: PreTrainedModel, inject: Any) -> nn.Module:
    layers = find_layers(model)
    path = next(name for name, module in model.named_modules() if module is layers).split(".")
    stand_in = copy.copy(layers[0])
    stand_in._modules = {}
    stand_in.forward = inject
    root = _shallow(model)
    parent: nn.Module = root
    for name in path[:-1]:
        child = _shallow(parent._modules[name])
        parent._modules[name] = child
        parent = child
    parent._modules[path[-1]] = nn.ModuleList([stand_in])
    return root


def _shallow(module: nn.Module | None) -> nn.Module:
    assert module is not None
    twin = copy.copy(module)
    twin._modules = dict(module._modules)
    return twin
