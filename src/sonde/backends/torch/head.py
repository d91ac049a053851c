"""From the last residual to log-probabilities, by the model's own forward pass without its layers.

Final norms, scales and soft-caps differ between models. A shallow copy of the model, sharing every
parameter, has its decoder layers replaced by one that returns the rows it was given; what the model
does after its layers is then done as the model does it.

The vocabulary is wide and only a few log-probabilities and one normaliser are wanted, so it is
visited a slice at a time, while a slice's logits are still in the cache. On a CPU each thread takes
slices of its own.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel

from sonde.backends.torch.products import LaidOut, worth_it
from sonde.backends.torch.rows import RowShape, pad_rows
from sonde.backends.torch.shell import put, with_stand_ins
from sonde.backends.torch.threads import each_by_one_thread, one_thread_each

CPU_SLICE: Final = 2048
GPU_SLICE: Final = 65536
"""Vocabulary entries whose logits exist at a time: few launches on a GPU, the cache on a CPU."""
PEEK: Final = slice(0, 8)
"""Enough of the vocabulary to see what the model gives its unembedding."""
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
        self._on_cpu = on_cpu
        self._most = CPU_ROWS if on_cpu else GPU_ROWS
        step = CPU_SLICE if on_cpu else GPU_SLICE
        self._multiple = min(shape.multiple, self._most)
        self._tuple_of = tuple_of
        unembedding = model.get_output_embeddings()
        size = unembedding.weight.shape[0]
        self._parts = [slice(i, min(i + step, size)) for i in range(0, size, step)]
        self._unembed = _SlicedLinear(unembedding, self._parts if worth_it(model) else [])
        self._given: Tensor | None = None
        self._plain: bool | None = None
        """Whether nothing follows the unembedding; then further slices need only that."""
        self._shell = with_stand_ins(model, [self._inject])
        put(self._shell, model, unembedding, self._unembed)

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
        parts = self._each(pad_rows(final, self._multiple), lambda _, logits: logits)
        normaliser = _normaliser([log_sum_exp(logits) for logits in parts])
        return torch.cat(parts, -1)[: final.shape[0]], normaliser[: final.shape[0]]

    def _logprobs(self, final: Tensor, token_ids: Sequence[int]) -> Tensor:
        rows = pad_rows(final, self._multiple)
        chosen = rows.new_empty(rows.shape[0], len(token_ids), dtype=torch.float32)

        def grade(part: slice, logits: Tensor) -> Tensor:
            for column, token in enumerate(token_ids):
                if part.start <= token < part.stop:
                    chosen[:, column] = logits[:, token - part.start]
            return log_sum_exp(logits)

        normaliser = _normaliser(self._each(rows, grade))
        return (chosen - normaliser[:, None])[: final.shape[0]]

    def _each(self, rows: Tensor, make: Callable[[slice, Tensor], Tensor]) -> list[Tensor]:
        """What `make` makes of the logits of each slice of the vocabulary, in float32."""

        def further(part: slice) -> Tensor:
            return make(part, self._unembed.again(part)[:, 0].float())

        threads = torch.get_num_threads() if self._on_cpu else 1
        if self._plain and threads > 1:
            with one_thread_each():
                self._by_the_model(rows, PEEK)
                return each_by_one_thread(further, self._parts, threads)
        first, *others = self._parts
        made = [make(first, self._by_the_model(rows, first).float())]
        if not self._plain:
            return made + [make(p, self._by_the_model(rows, p).float()) for p in others]
        return made + [further(part) for part in others]

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


def log_sum_exp(logits: Tensor) -> Tensor:
    """Log Σ exp of each row, as exact as torch's, by powers of two: half its time on a CPU."""
    most = torch.finfo(logits.dtype).max
    top = logits.amax(-1, keepdim=True).clamp_(-most, most)  # an infinite one would give NaN
    powers = (logits - top).mul_(1 / math.log(2)).exp2_()
    return powers.sum(-1).log2_().mul_(math.log(2)).add_(top[:, 0])


def _normaliser(parts: list[Tensor]) -> Tensor:
    """Log Σ exp of all slices, from each slice's own."""
    return log_sum_exp(torch.stack(parts, -1))


class _SlicedLinear(nn.Module):
    """An unembedding that computes only part of the vocabulary, and remembers its input."""

    def __init__(self, linear: nn.Module, laid_out: Sequence[slice]) -> None:
        super().__init__()
        self._linear: Any = linear
        self.part = slice(None)
        self._laid_out = {_ends(part): LaidOut(*self._map(part)) for part in laid_out}

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
        laid_out = self._laid_out.get(_ends(part))
        if laid_out is not None:
            return laid_out(self._hidden)
        return F.linear(self._hidden, *self._map(part))

    def _map(self, part: slice) -> tuple[Tensor, Tensor | None]:
        """Weight and bias of a part of the vocabulary."""
        bias = getattr(self._linear, "bias", None)
        return self._linear.weight[part], None if bias is None else bias[part]


def _ends(part: slice) -> tuple[int | None, int | None]:
    return part.start, part.stop
