"""The next token: what each limit leaves, in which order they apply, and what a penalty does."""

from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor

from sonde.backends.base import GenerateRequest
from sonde.backends.torch.choosing import choose, limited

LOGITS = torch.tensor([0.5, 2.0, -1.0, 1.0, 0.0])
P = torch.softmax(LOGITS.double(), -1)


def request(**fields: Any) -> GenerateRequest:
    return GenerateRequest((1, 2), **{"max_tokens": 8} | fields)


def left(**fields: Any) -> list[int]:
    """The tokens that can be drawn."""
    kept: Tensor = limited(P.clone(), request(**fields))
    for token in kept.nonzero()[:, 0].tolist():
        assert kept[token] == P[token]
    return [int(token) for token in kept.nonzero()[:, 0].tolist()]


def chosen(seed: int = 0, so_far: tuple[int, ...] = (1, 2), **fields: Any) -> int:
    generator = torch.Generator().manual_seed(seed)
    return choose(LOGITS, request(**fields), so_far, generator)


def test_13_each_limit_leaves_what_it_says() -> None:
    assert left() == [0, 1, 2, 3, 4]
    assert left(top_k=2) == [1, 3]
    assert left(top_k=99) == [0, 1, 2, 3, 4]
    ratio = float(P[0] / P[1])
    assert left(min_p=ratio * 0.999) == [0, 1, 3]
    assert left(min_p=ratio * 1.001) == [1, 3]
    assert left(min_p=1.0) == [1]
    assert left(top_p=float(P[1]) * 0.99) == [1]
    assert left(top_p=float(P[1]) * 1.01) == [1, 3]


def test_13_top_p_is_of_what_top_k_and_min_p_have_left() -> None:
    """0.71 of the two that are left is more than the likeliest's share of all."""
    share = float(P[1] / (P[1] + P[3]))
    assert left(top_p=share * 0.99, top_k=2) == [1]
    assert left(top_p=share * 1.01, top_k=2) == [1, 3]
    assert left(top_p=share * 0.99, min_p=float(P[3] / P[1]) * 0.99) == [1]
    assert left(top_p=share * 0.99) == [1, 3]


def test_13_equals_at_the_edge_of_top_k_stay_together() -> None:
    flat = torch.tensor([0.25, 0.25, 0.3, 0.2], dtype=torch.float64)
    assert limited(flat, request(top_k=2)).nonzero()[:, 0].tolist() == [0, 1, 2]


def test_13_draws_come_from_what_is_left_by_its_probability() -> None:
    """400 draws from two tokens: 5 standard deviations away is a chance of 6e-7."""
    counts = Counter(chosen(seed, temperature=1.0, top_k=2) for seed in range(400))
    p = float(P[1] / (P[1] + P[3]))
    assert set(counts) == {1, 3}
    assert abs(counts[1] - 400 * p) < 5 * (400 * p * (1 - p)) ** 0.5


def test_13_a_penalty_divides_above_zero_and_multiplies_below() -> None:
    assert chosen() == 1
    assert chosen(repetition_penalty=1.9) == 1
    assert chosen(repetition_penalty=2.1) == 3
    below = torch.tensor([-1.0, -1.5])
    generator = torch.Generator()
    one = GenerateRequest((0,), repetition_penalty=1.4)
    assert choose(below, one, (0,), generator) == 0
    assert choose(below, GenerateRequest((0,), repetition_penalty=1.6), (0,), generator) == 1
    assert LOGITS.tolist() == [0.5, 2.0, -1.0, 1.0, 0.0]


def test_13_a_penalty_below_one_invites_what_was_said() -> None:
    assert chosen(so_far=(1, 2, 3), repetition_penalty=0.4) == 1
    assert chosen(so_far=(3, 3, 3), repetition_penalty=0.4) == 3


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_13_stop_tokens_are_not_chosen_too_early(temperature: float) -> None:
    stops: Any = {"stop_ids": frozenset({1, 3}), "min_tokens": 2, "temperature": temperature}
    for seed in range(20):
        assert chosen(seed, **stops) not in {1, 3}
        assert chosen(seed, (1, 2, 4), **stops) not in {1, 3}
    assert {chosen(seed, (1, 2, 4, 4), **stops) for seed in range(20)} & {1, 3}
