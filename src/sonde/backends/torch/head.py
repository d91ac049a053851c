"""From the last residual to log-probabilities, by the model's own forward pass without its layers.

Final norms, scales and soft-caps differ between models. A shallow copy of the model, sharing every
parameter, has its decoder layers replaced by one that returns the rows it was given; what the model
does after its layers is then done as the model does it.

The vocabulary is wide and only a few log-probabilities and one normaliser are wanted, so it is
visited a slice at a time, while a slice's logits are still in the cache.
"""

import copy
from collections.abc import Iterator, Sequence
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel

from sonde.backends.torch.layout import find_layers
from sonde.backends.torch.rows import RowShape, pad_rows

CPU_SLICE: Final = 2048
GPU_SLICE: Final = 65536
"""Vocabulary entries whose logits exist at a time: few launches on a GPU, the cache on a CPU."""
CPU_ROWS: Final = 256
GPU_ROWS: Final = 2048


class Head:
    """The model after its last layer."""

    def __init__(
        self, model: PreTrainedModel, shape: RowShape, tuple_of: int | None = None
    ) -> None:
        """Build the layerless copy; `model` itself is not touched.

        Its layers return a tensor, or a tuple of so many values.
        """
        on_cpu = model.device.type == "cpu"
        self._most = CPU_ROWS if on_cpu else GPU_ROWS
        self._step = CPU_SLICE if on_cpu else GPU_SLICE
        self._multiple = min(shape.multiple, self._most)
        self._tuple_of = tuple_of
        unembedding = model.get_output_embeddings()
        self._unembed = _SlicedLinear(unembedding)
        self._vocabulary: int = unembedding.weight.shape[0]
        self._given: Tensor | None = None
        self._plain: bool | None = None
        """Whether nothing follows the unembedding; then further slices need only that."""
        self._shell = _without_layers(model, self._inject, unembedding, self._unembed)

    def _inject(self, _hidden: Tensor, *_args: Any, **_kwargs: Any) -> object:
        assert self._given is not None
        if self._tuple_of is None:
            return self._given
        return (self._given, *[None] * (self._tuple_of - 1))

    def logprobs(self, final: Tensor, token_ids: Sequence[int]) -> Tensor:
        """Residuals [n, width] -> log-probabilities of the ids, [n, ids] in float32."""
        step = self._most
        parts = [
            self._logprobs(final[start : start + step], token_ids)
            for start in range(0, final.shape[0], step)
        ]
        return torch.cat(parts)

    def distribution(self, final: Tensor) -> tuple[Tensor, Tensor]:
        """Residuals [n, width] -> all logits [n, vocabulary] and their normaliser [n]."""
        parts = [logits for _, logits in self._slices(pad_rows(final, self._multiple))]
        normaliser = _normaliser([torch.logsumexp(logits, -1) for logits in parts])
        return torch.cat(parts, -1)[: final.shape[0]], normaliser[: final.shape[0]]

    def _logprobs(self, final: Tensor, token_ids: Sequence[int]) -> Tensor:
        rows = pad_rows(final, self._multiple)
        chosen = rows.new_empty(rows.shape[0], len(token_ids), dtype=torch.float32)
        normalisers = []
        for start, logits in self._slices(rows):
            normalisers.append(torch.logsumexp(logits, -1))
            for column, token in enumerate(token_ids):
                if start <= token < start + logits.shape[-1]:
                    chosen[:, column] = logits[:, token - start]
        return (chosen - _normaliser(normalisers)[:, None])[: final.shape[0]]

    def _slices(self, rows: Tensor) -> Iterator[tuple[int, Tensor]]:
        """Logits of the vocabulary in float32, a slice at a time, each with its first id."""
        for start in range(0, self._vocabulary, self._step):
            part = slice(start, min(start + self._step, self._vocabulary))
            if start > 0 and self._plain:
                yield start, self._unembed.again(part)[:, 0].float()
            else:
                yield start, self._by_the_model(rows, part).float()

    def _by_the_model(self, rows: Tensor, part: slice) -> Tensor:
        """Logits of a slice, by everything the model does after its layers."""
        self._unembed.part = part
        self._given = rows.unsqueeze(1)
        dummy = torch.zeros(rows.shape[0], 1, dtype=torch.int64, device=rows.device)
        try:
            out: Tensor = self._shell(input_ids=dummy, use_cache=False).logits
        finally:
            self._given = None
        if self._plain is None:
            self._plain = torch.equal(out, self._unembed.made)
        return out[:, 0]


def _normaliser(parts: list[Tensor]) -> Tensor:
    """Log Σ exp of all slices, from each slice's own."""
    return torch.logsumexp(torch.stack(parts, -1), -1)


class _SlicedLinear(nn.Module):
    """An unembedding that computes only part of the vocabulary, and remembers its input."""

    def __init__(self, linear: nn.Module) -> None:
        super().__init__()
        self._linear: Any = linear
        self.part = slice(None)

    @property
    def weight(self) -> Tensor:
        weight: Tensor = self._linear.weight
        return weight

    def forward(self, hidden: Tensor) -> Tensor:
        self._hidden = hidden
        self.made = self.again(self.part)
        return self.made

    def again(self, part: slice) -> Tensor:
        """Another part of the vocabulary for the last input."""
        bias = getattr(self._linear, "bias", None)
        return F.linear(
            self._hidden, self._linear.weight[part], None if bias is None else bias[part]
        )


def _without_layers(
    model: PreTrainedModel, inject: Any, unembedding: nn.Module, replacement: nn.Module
) -> nn.Module:
    """A copy of `model`, sharing its parameters, with stand-ins for the layers and unembedding."""
    layers = find_layers(model)
    stand_in = copy.copy(layers[0])
    stand_in._modules = {}
    stand_in.forward = inject
    root: nn.Module = copy.copy(model)
    root._modules = dict(model._modules)
    _replace(root, model, layers, nn.ModuleList([stand_in]))
    _replace(root, model, unembedding, replacement)
    return root


def _replace(root: nn.Module, model: nn.Module, old: nn.Module, new: nn.Module) -> None:
    """Put `new` where `old` is, copying the modules on the way so that `model` keeps `old`."""
    *path, last = next(name for name, module in model.named_modules() if module is old).split(".")
    parent = root
    for name in path:
        child = parent._modules[name]
        assert child is not None
        twin = copy.copy(child)
        twin._modules = dict(child._modules)
        parent._modules[name] = twin
        parent = twin
    parent._modules[last] = new
