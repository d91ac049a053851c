"""What is told of a row: from final residuals to logits, log-probabilities, ranks and divergences.

What a readout needs decides what is computed. Logits alone are a few rows of the unembedding;
log-probabilities need one pass over the vocabulary and keep none of it; ranks and divergences need
the whole distribution of a row, a few rows at a time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from sonde.backends.base import Column, Readout
from sonde.backends.torch.packed.unembedding import Unembedding

ROWS: Final = 128
"""Rows whose whole distribution exists at a time."""


@dataclass(frozen=True)
class Distribution:
    """An unpatched prompt's last distribution, to compare others with."""

    logits: Tensor
    """[vocabulary], float32."""
    normaliser: Tensor
    """[]"""


Against = Callable[[tuple[int, ...]], Distribution]
"""The tokens of a prompt -> its last distribution."""


def read_out(
    unembedding: Unembedding,
    final: Tensor,
    readouts: Sequence[Readout],
    reads: Sequence[Sequence[int]],
    against: Against,
) -> Tensor:
    """Final residuals -> what each cell's readout tells: [cells, columns] in float32.

    Of cell i, `final` has one row for each position in `reads[i]`, in order. Cells with fewer
    columns than others are filled up with zeros.
    """
    width = max((len(readout.columns) for readout in readouts), default=0)
    out = torch.zeros(len(readouts), width, device=final.device)
    simple = all(len(each) == 1 for each in reads)
    kinds = {column.quantity for readout in readouts for column in readout.columns}
    if simple and kinds <= {"logprob"}:
        same = all(readout == readouts[0] for readout in readouts)
        if same:
            return unembedding.logprobs(final, _tokens(readouts[0].columns))
        return unembedding.logprobs(final, _token_rows(readouts, width))
    if simple and kinds <= {"logit"}:
        return unembedding.logits(final, _token_rows(readouts, width))
    rows = _rows(readouts, reads)
    if kinds <= {"logit", "logprob"}:
        _read_chosen(unembedding, final, rows, out)
    else:
        _read_whole(unembedding, final, rows, out, against)
    return out


CellRequest = tuple[int, int, Column]
"""Cell, column, and what it is."""


def _tokens(columns: Sequence[Column]) -> list[int]:
    return [0 if column.token is None else column.token for column in columns]


def _token_rows(readouts: Sequence[Readout], width: int) -> np.ndarray:
    """The token of every column of every cell, filled up with token 0: [cells, columns]."""
    known = {id(readout): _tokens(readout.columns) for readout in readouts}
    rows = [known[id(readout)] for readout in readouts]
    return np.array([row + [0] * (width - len(row)) for row in rows], dtype=np.int64)


def _rows(readouts: Sequence[Readout], reads: Sequence[Sequence[int]]) -> list[list[CellRequest]]:
    """What is asked of each row of the final residuals."""
    rows: list[list[CellRequest]] = []
    for cell, (readout, positions) in enumerate(zip(readouts, reads, strict=True)):
        first, n = len(rows), positions[-1] + 1
        rows += [[] for _ in positions]
        place = {position: first + i for i, position in enumerate(positions)}
        for number, column in enumerate(readout.columns):
            rows[place[column.position % n]].append((cell, number, column))
    return rows


def _read_chosen(
    unembedding: Unembedding, final: Tensor, rows: Sequence[Sequence[CellRequest]], out: Tensor
) -> None:
    """Logits and log-probabilities of tokens that differ from row to row."""
    most = max(len(row) for row in rows)
    tokens = np.zeros((len(rows), max(most, 1)), dtype=np.int64)
    for i, row in enumerate(rows):
        tokens[i, : len(row)] = _tokens([column for _, _, column in row])
    logits, normaliser = unembedding.chosen(final, tokens)
    for i, row in enumerate(rows):
        for k, (cell, number, column) in enumerate(row):
            value = logits[i, k]
            out[cell, number] = value - normaliser[i] if column.quantity == "logprob" else value


def _read_whole(
    unembedding: Unembedding,
    final: Tensor,
    rows: Sequence[Sequence[CellRequest]],
    out: Tensor,
    against: Against,
) -> None:
    """Everything, from each row's whole distribution."""
    others: Mapping[tuple[int, ...], Distribution] = {
        column.against: against(column.against)
        for row in rows
        for _, _, column in row
        if column.against is not None
    }
    for start in range(0, len(rows), ROWS):
        logits, normaliser = unembedding.distribution(final[start : start + ROWS])
        for i, row in enumerate(rows[start : start + ROWS]):
            for cell, number, column in row:
                out[cell, number] = _one(column, logits[i], normaliser[i], others)


def _one(
    column: Column,
    logits: Tensor,
    normaliser: Tensor,
    others: Mapping[tuple[int, ...], Distribution],
) -> Tensor:
    """One number from one row's distribution."""
    if column.quantity == "kl":
        assert column.against is not None
        return _divergence(logits, normaliser, others[column.against])
    value = logits[column.token]
    if column.quantity == "rank":
        return (logits > value).sum().float()
    return value - normaliser if column.quantity == "logprob" else value


def _divergence(logits: Tensor, normaliser: Tensor, other: Distribution) -> Tensor:
    """Σ q (log q − log p), exactly 0 where the two have the same bits."""
    weight = (other.logits - other.normaliser).double().exp()
    apart = (other.logits - logits).double()
    # A token that is impossible on both sides has no weight, and no difference either.
    apart = torch.where(weight > 0, apart, 0.0)
    total = (weight * apart).sum() + (normaliser - other.normaliser).double() * weight.sum()
    return total.float()
