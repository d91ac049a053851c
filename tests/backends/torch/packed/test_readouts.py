"""Everything that is told of a row equals its formula on the row's own logits."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from sonde.backends.base import Column, FromVector, Readout, Row, Work, write_at
from sonde.backends.torch.backend import TorchBackend
from sonde.errors import BadRequest, PositionOutOfRange
from sonde.schema import Hook
from tests.architectures import WIDTH
from tests.backends.torch.tiny import (
    captured,
    from_run,
    pair_of_prompts,
    prepared,
    tiny_backend,
    vector,
)

EVERY: Sequence[tuple[Hook, int, int]] = (
    ("pre_attn", 0, 4),
    ("mlp_out", 1, 8),
    ("post_block", 2, 8),
    ("post_attn", 2, 8),
)


def told(
    backend: TorchBackend, tokens: Sequence[int], rows: Sequence[Row], *columns: Column
) -> np.ndarray:
    out = np.full((len(rows), len(columns)), np.nan)
    for part in backend.score([Work(tokens, rows, Readout(columns))]):
        out[list(part.rows)] = part.values
    return out


def rows_of(backend: TorchBackend) -> list[Row]:
    run = captured(backend, "clean", pair_of_prompts(9)[0])
    return [Row(), Row(computed=True), *from_run(run, EVERY)]


def whole(backend: TorchBackend, tokens: Sequence[int], rows: Sequence[Row]) -> torch.Tensor:
    """The logits of every row: [rows, vocabulary]."""
    n = backend.describe().vocabulary
    return torch.from_numpy(told(backend, tokens, rows, *[Column("logit", i) for i in range(n)]))


def test_quantities_are_their_formulas_on_the_same_logits() -> None:
    backend = tiny_backend()
    clean, corrupt = pair_of_prompts(9)
    rows = rows_of(backend)
    logits = whole(backend, corrupt, rows)
    reference = whole(backend, clean, [Row()])[0]

    found = told(
        backend, corrupt, rows,
        Column("logit", 5), Column("logprob", 5), Column("rank", 5), Column("rank", 50),
        Column("kl", against=tuple(clean)), Column("kl", against=tuple(corrupt)),
    )  # fmt: skip

    logprobs = logits.log_softmax(-1)
    q = reference.log_softmax(-1)
    np.testing.assert_allclose(found[:, 0], logits[:, 5], atol=1e-6)
    np.testing.assert_allclose(found[:, 1], logprobs[:, 5], atol=1e-6)
    assert found[:, 2].tolist() == (logits > logits[:, 5:6]).sum(-1).tolist()
    assert found[:, 3].tolist() == (logits > logits[:, 50:51]).sum(-1).tolist()
    np.testing.assert_allclose(found[:, 4], (q.exp() * (q - logprobs)).sum(-1), atol=1e-6)
    assert found[0, 5] == found[1, 5] == 0.0  # the same bits: no divergence at all


def test_logits_alone_are_those_of_the_whole_vocabulary() -> None:
    """Two rows of the unembedding, whatever else could have been computed."""
    backend = tiny_backend()
    corrupt, rows = pair_of_prompts(9)[1], rows_of(backend)

    alone = told(backend, corrupt, rows, Column("logit", 5), Column("logit", 50))
    beside = told(
        backend, corrupt, rows, Column("logit", 5), Column("logit", 50), Column("rank", 5)
    )

    np.testing.assert_allclose(alone, beside[:, :2], atol=1e-6)
    difference = alone[:, 0] - alone[:, 1]
    logprob = told(backend, corrupt, rows, Column("logprob", 5), Column("logprob", 50))
    np.testing.assert_allclose(difference, logprob[:, 0] - logprob[:, 1], atol=1e-5)


def test_logits_alone_have_the_same_bits_in_any_chunk() -> None:
    backend = tiny_backend()
    corrupt, rows = pair_of_prompts(9)[1], rows_of(backend)
    columns = (Column("logit", 5), Column("logit", 50))

    together = told(backend, corrupt, rows, *columns)

    for row, expected in zip(rows, together, strict=True):
        assert told(backend, corrupt, [row], *columns).tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", ["llama", "gemma2", "neox_sequential", "mamba"])
def test_several_positions_are_read_as_a_plain_forward_pass_has_them(name: str) -> None:
    """An answer of several tokens: each is graded after the one before it."""
    backend, reference = prepared(name)
    tokens = pair_of_prompts(9)[1]
    values = vector(WIDTH)
    hooks = backend.describe().layer_hooks
    rows = [Row(), Row(computed=True)]
    where = [(h, layer, p) for h in hooks for layer in (0, 2) for p in (3, 6, 7, 8)]
    rows += [Row((write_at(h, layer, p, FromVector(values)),)) for h, layer, p in where]

    found = told(
        backend, tokens, rows,
        Column("logprob", 5, 6), Column("logprob", 50, 7), Column("logprob", 7, -1),
    )  # fmt: skip

    for n, column, token in ((7, 0, 5), (8, 1, 50), (9, 2, 7)):
        shorter = [r for r, w in enumerate([None, None, *where]) if w is None or w[2] < n]
        expected = told(backend, tokens[:n], [rows[r] for r in shorter], Column("logprob", token))
        np.testing.assert_allclose(found[shorter, column], expected[:, 0], atol=2e-5)
        beyond = [r for r in range(len(rows)) if r not in shorter]
        assert (found[beyond, column] == found[0, column]).all()  # a write cannot reach back


def test_reading_several_positions_changes_no_bit_with_the_rows_beside() -> None:
    backend = tiny_backend()
    corrupt, rows = pair_of_prompts(9)[1], rows_of(backend)
    columns = (Column("logprob", 5, 7), Column("logprob", 50))

    together = told(backend, corrupt, rows, *columns)

    assert together[0].tobytes() == together[1].tobytes()
    for row, expected in zip(rows, together, strict=True):
        assert told(backend, corrupt, [row], *columns).tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (Column("kl"), "kl needs a prompt to compare with"),
        (Column("rank"), "rank is of a token"),
        (Column("logit", 97), "token id 97 is outside the vocabulary"),
    ],
)
def test_what_cannot_be_told_is_refused(column: Column, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        told(tiny_backend(), pair_of_prompts(9)[1], [Row()], column)


def test_a_position_that_is_not_there_and_an_empty_readout_are_refused() -> None:
    with pytest.raises(PositionOutOfRange):
        told(tiny_backend(), pair_of_prompts(9)[1], [Row()], Column("logprob", 5, 9))
    with pytest.raises(BadRequest, match="nothing to read out"):
        told(tiny_backend(), pair_of_prompts(9)[1], [Row()])
