"""Prompts are told apart by their tokens."""

from sonde.prompts import prompt_digest


def test_equal_tokens_have_one_digest() -> None:
    assert prompt_digest([1, 23]) == prompt_digest((1, 23))


def test_different_tokens_have_different_ones() -> None:
    assert len({prompt_digest(t) for t in ([1, 23], [12, 3], [1, 2, 3], [23, 1], [])}) == 5
