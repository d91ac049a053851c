"""Rows that name tokens and rows that want the likeliest, in one batch."""

import torch

from sonde.backends.vllm.likeliest import with_likeliest


def test_rows_that_want_the_likeliest_get_them_beside_rows_that_name_theirs() -> None:
    logprobs = torch.tensor([[0.0, -1, -2, -3], [-3.0, -2, 0, -1], [-1.0, 0, -2, -3]])
    found = with_likeliest(logprobs, {0: [3]}, {1: 2, 2: 1})
    assert found == {0: [3], 1: [2, 3], 2: [1]}


def test_a_row_that_names_its_tokens_or_wants_none_is_left_as_it_is() -> None:
    logprobs = torch.zeros(2, 4)
    assert with_likeliest(logprobs, {0: [1]}, {0: 1, 1: 0}) == {0: [1]}


def test_more_than_there_are_is_all_of_them() -> None:
    assert sorted(with_likeliest(torch.zeros(1, 3), {}, {0: 99})[0]) == [0, 1, 2]
