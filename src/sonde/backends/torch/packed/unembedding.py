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

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import PreTrainedModel

from sonde.backends.torch.cpu.products import LaidOut, worth_it
from sonde.backends.torch.cpu.threads import each_by_one_thread, one_thread_each
from sonde.backends.torch.packed.rows import RowShape, index_tensor, pad_rows, padded
from sonde.backends.torch.shell import put, with_stand_ins

CPU_SLICE: Final = 2048
GPU_SLICE: Final = 65536
"""Vocabulary entries whose logits exist at a time: few launches on a GPU, the cache on a CPU."""
PEEK: Final = slice(0, 8)
"""Enough of the vocabulary to see what the model gives its unembedding."""
CPU_ROWS: Final = 256
GPU_ROWS: Final = 2048
FEW: Final = 16
"""Tokens that are unembedded by themselves come in whole groups of so many."""
LANES: Final = 64
"""Numbers of which a CPU's vector registers take whole groups at a time, at most."""

Tokens = Sequence[int] | NDArray[np.int64]
Part = slice | tuple[int, ...]
"""A slice of the vocabulary, or single tokens of it."""


class Unembedding:
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

    def logprobs(self, final: Tensor, token_ids: Tokens) -> Tensor:
        """Residuals [n, width] -> log-probabilities of the ids, [n, ids] in float32."""
        chosen, normaliser = self.chosen(final, token_ids)
        return chosen - normaliser[:, None]

    def chosen(self, final: Tensor, token_ids: Tokens) -> tuple[Tensor, Tensor]:
        """Residuals [n, width] -> logits of the ids [n, ids], and the normaliser [n], in float32.

        The ids are the same for all rows, or an array with a row of them for each.
        """
        step, each = self._most, isinstance(token_ids, np.ndarray)
        parts = [
            self._chosen(
                final[start : start + step],
                token_ids[start : start + step] if each else token_ids,
            )
            for start in range(0, final.shape[0], step)
        ]
        return torch.cat([logits for logits, _ in parts]), torch.cat([n for _, n in parts])

    def logits(self, final: Tensor, token_ids: NDArray[np.int64]) -> Tensor:
        """Logits of a few ids [n, ids], and of no other token: no normaliser is made for them."""
        distinct, places = np.unique(token_ids, return_inverse=True)
        wanted = np.resize(distinct, padded(len(distinct), FEW))  # whole groups of columns
        rows = pad_rows(final, self._multiple)
        some = self._by_the_model(rows, tuple(wanted.tolist()))[: final.shape[0]].float()
        columns = torch.from_numpy(places.reshape(token_ids.shape)).to(final.device)
        return some.gather(1, columns)

    def with_gradient(self, final: Tensor, token_ids: Sequence[int] | None = None) -> Tensor:
        """Residuals [n, width] -> logits of the ids, or of all tokens, in float32, as a graph."""
        part = slice(None) if token_ids is None else tuple(token_ids)
        logits = self._by_the_model(final, part).float()
        self._unembed.forget()
        return logits

    def distribution(self, final: Tensor) -> tuple[Tensor, Tensor]:
        """Residuals [n, width] -> all logits [n, vocabulary] and their normaliser [n]."""
        parts = self._each(pad_rows(final, self._multiple), lambda _, logits: logits)
        normaliser = _normaliser([log_sum_exp(logits) for logits in parts])
        return torch.cat(parts, -1)[: final.shape[0]], normaliser[: final.shape[0]]

    def _chosen(self, final: Tensor, token_ids: Tokens) -> tuple[Tensor, Tensor]:
        rows, n = pad_rows(final, self._multiple), final.shape[0]
        each = isinstance(token_ids, np.ndarray)
        n_ids = token_ids.shape[1] if isinstance(token_ids, np.ndarray) else len(token_ids)
        chosen = rows.new_empty(rows.shape[0], n_ids, dtype=torch.float32)

        def grade(part: slice, logits: Tensor) -> Tensor:
            if each:
                self._pick(chosen, logits, part, np.asarray(token_ids))
            else:
                for column, token in enumerate(token_ids):
                    if part.start <= token < part.stop:
                        chosen[:, column] = logits[:, token - part.start]
            return log_sum_exp(logits)

        normaliser = _normaliser(self._each(rows, grade))
        return chosen[:n], normaliser[:n]

    def _pick(
        self, chosen: Tensor, logits: Tensor, part: slice, token_ids: NDArray[np.int64]
    ) -> None:
        """Each row's own ids, those of this slice of the vocabulary."""
        row, column = np.nonzero((token_ids >= part.start) & (token_ids < part.stop))
        if len(row):
            at = np.stack([row, column, token_ids[row, column] - part.start])
            rows, columns, tokens = index_tensor(np.ascontiguousarray(at), chosen.device)
            chosen[rows, columns] = logits[rows, tokens]

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

    def _by_the_model(self, rows: Tensor, part: Part) -> Tensor:
        """Logits of a part of the vocabulary, by everything the model does after its layers."""
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
    powers = _exp2((logits - top).mul_(1 / math.log(2)))
    return powers.sum(-1).log2_().mul_(math.log(2)).add_(top[:, 0])


def _exp2(values: Tensor) -> Tensor:
    """2 to the power of each, whatever stands after it.

    torch computes what does not fill its vector registers by another function, with other bits, and
    which numbers those are depends on how many there are.
    """
    n = values.numel()
    if n % LANES == 0:
        return values.exp2_()
    whole = values.new_zeros(padded(n, LANES))
    whole[:n] = values.flatten()
    return whole.exp2_()[:n].view(values.shape)


def _normaliser(parts: list[Tensor]) -> Tensor:
    """Log Σ exp of all slices, from each slice's own."""
    return log_sum_exp(torch.stack(parts, -1))


class _SlicedLinear(nn.Module):
    """An unembedding that computes only part of the vocabulary, and remembers its input."""

    def __init__(self, linear: nn.Module, laid_out: Sequence[slice]) -> None:
        super().__init__()
        self._linear: Any = linear
        self.part: Part = slice(None)
        self._lays_out = bool(laid_out)
        self._laid_out = {_ends(part): LaidOut(*self._map(part)) for part in laid_out}
        self._few: tuple[Part, LaidOut] | None = None
        """The last few tokens that were asked for by themselves."""

    @property
    def weight(self) -> Tensor:
        weight: Tensor = self._linear.weight
        return weight

    def forward(self, hidden: Tensor) -> Tensor:
        self._hidden = hidden
        self.made = self.again(self.part)
        return self.made

    def again(self, part: Part) -> Tensor:
        """Another part of the vocabulary for the last input."""
        if torch.is_grad_enabled():
            return F.linear(self._hidden, *self._map(part))
        laid_out = self._few_laid_out(part) if isinstance(part, tuple) else None
        if isinstance(part, slice):
            laid_out = self._laid_out.get(_ends(part))
        if laid_out is not None:
            return laid_out(self._hidden)
        return F.linear(self._hidden, *self._map(part))

    def forget(self) -> None:
        """Let go of the last input, and of the graph that it hangs on."""
        del self._hidden, self.made

    def _few_laid_out(self, part: tuple[int, ...]) -> LaidOut | None:
        if not self._lays_out:
            return None
        if self._few is None or self._few[0] != part:
            self._few = part, LaidOut(*self._map(part))
        return self._few[1]

    def _map(self, part: Part) -> tuple[Tensor, Tensor | None]:
        """Weight and bias of a part of the vocabulary."""
        bias = getattr(self._linear, "bias", None)
        where = list(part) if isinstance(part, tuple) else part
        return self._linear.weight[where], None if bias is None else bias[where]


def _ends(part: slice) -> tuple[int | None, int | None]:
    return part.start, part.stop
