"""Active features: what the ragged form stands for."""

import torch

from sonde.sae.active import Active, join

RAGGED = Active(
    indices=torch.tensor([7, 2, 5, 1, 3]),
    values=torch.tensor([1.0, 3.0, 2.0, 0.0, 4.0]),
    offsets=torch.tensor([0, 3, 3, 5]),
)
"""Token 0 has three features, token 1 none, token 2 one: an entry of 0 is not active."""

ROWS = Active(
    indices=torch.tensor([4, 9, 1, 0]),
    values=torch.tensor([2.0, 1.0, 3.0, 0.0]),
    offsets=torch.tensor([0, 2, 4]),
    per_token=2,
    descending=True,
)


def test_tokens_and_counts() -> None:
    assert len(RAGGED) == 3
    assert RAGGED.tokens.tolist() == [0, 0, 0, 2, 2]
    assert RAGGED.n_active.tolist() == [3, 0, 1]
    assert ROWS.n_active.tolist() == [2, 1]


def test_the_strongest_come_first_and_short_rows_end_in_zeros() -> None:
    indices, values = RAGGED.top(2)

    assert values.tolist() == [[3, 2], [0, 0], [4, 0]]
    assert indices[0].tolist() == [2, 5]
    assert indices[2, 0] == 3


def test_more_than_there_are_gives_what_there_is() -> None:
    assert RAGGED.top(9)[1].tolist() == [[3, 2, 1], [0, 0, 0], [4, 0, 0]]
    assert ROWS.top(9)[1].tolist() == [[2, 1], [3, 0]]
    assert ROWS.top(1)[0].tolist() == [[4], [1]]


def test_rows_are_plain_numbers_without_padding() -> None:
    assert RAGGED.rows() == [([2, 5, 7], [3.0, 2.0, 1.0]), ([], []), ([3], [4.0])]
    assert ROWS.rows() == [([4, 9], [2.0, 1.0]), ([1], [3.0])]


def test_dense_is_what_it_stands_for() -> None:
    assert ROWS.dense(10).nonzero().tolist() == [[0, 4], [0, 9], [1, 1]]
    assert RAGGED.dense(8)[0].tolist() == [0, 0, 3, 0, 0, 2, 0, 1]


def test_parts_are_joined_in_order() -> None:
    both = join([RAGGED, RAGGED])

    assert len(both) == 6
    assert both.dense(8).equal(torch.cat([RAGGED.dense(8)] * 2))
    assert join([ROWS, ROWS]).top(1)[0].tolist() == [[4], [1], [4], [1]]


def test_features_of_other_tokens_can_be_left_out() -> None:
    kept = RAGGED.only(torch.tensor([False, True, True]))

    assert kept.n_active.tolist() == [0, 0, 1]
    assert RAGGED.n_active.tolist() == [3, 0, 1]


def test_no_tokens_are_no_problem() -> None:
    none = Active(
        torch.empty(0, dtype=torch.int64), torch.empty(0), torch.zeros(1, dtype=torch.int64)
    )

    assert len(none) == 0
    assert none.top(3)[0].shape[0] == 0
    assert none.rows() == []
