"""How often features are active, counted by hand."""

import pytest
import torch

from sonde.sae.density import DECADES, STEPS, Density


def test_features_are_counted_by_decade_and_nothing_is_lost() -> None:
    active = torch.tensor([0.0, 1, 5, 40, 200, 1000])
    found = Density.of(active, 1000)
    assert (found.never, found.dense) == (1, 2)
    assert found.dense_share == pytest.approx(1200 / 1246)
    assert found.median == pytest.approx(0.04)
    assert sum(found.counts) == 5
    assert found.counts[-1] == 1, "active on every token"
    assert found.counts[(DECADES - 3) * STEPS] == 1, "active on one token in a thousand"
    plain = found.plain()
    assert len(plain["edges"]) == len(plain["features"]) + 1
    assert (plain["edges"][0], plain["edges"][-1]) == (1e-6, 1.0)


def test_a_rate_of_exactly_a_tenth_is_not_dense() -> None:
    assert Density.of(torch.tensor([100.0, 101.0]), 1000).dense == 1


def test_where_nothing_is_active_nothing_has_a_share() -> None:
    found = Density.of(torch.zeros(4), 1000)
    assert (found.never, found.dense_share, found.median) == (4, None, None)
    assert sum(found.counts) == 0
