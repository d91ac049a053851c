"""A linear probe finds what is there, on rows it has not seen."""

import pytest
import torch

from sonde.sae.probing.linear import accuracy, f1, fit


def test_directions_that_are_there_are_found_and_others_are_not() -> None:
    draw = torch.Generator().manual_seed(0)
    rows = torch.randn(600, 20, generator=draw) * 3 + 5
    yes = torch.stack([rows[:, 3] > 5, rows[:, 4] + rows[:, 7] > 12], 1)
    chance = torch.rand(600, 1, generator=draw) > 0.5
    answers = torch.cat([yes, chance], 1)
    probe = fit(rows[:400], answers[:400])
    found = accuracy(probe(rows[400:]) > 0, answers[400:])
    assert found[:2].min() > 0.95
    assert abs(found[2] - 0.5) < 0.12
    assert probe.weights[:, 0].abs().argmax() == 3
    assert torch.equal(fit(rows[:400], answers[:400]).weights, probe.weights)


def test_a_rare_yes_counts_as_much_as_a_common_no() -> None:
    draw = torch.Generator().manual_seed(1)
    rows = torch.randn(1000, 4, generator=draw)
    yes = (rows[:, :1] > 2.0).clone()
    assert yes.sum() < 40
    assert accuracy(fit(rows, yes)(rows) > 0, yes) > 0.95


def test_scores_are_those_of_the_definitions() -> None:
    yes = torch.tensor([[True], [True], [True], [False], [False]])
    said = torch.tensor([[True], [False], [True], [True], [False]])
    assert float(f1(said, yes)) == pytest.approx(2 * 2 / 6)
    assert float(accuracy(said, yes)) == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert float(f1(torch.zeros_like(yes), yes)) == 0
    assert float(accuracy(torch.ones_like(yes), yes)) == 0.5
