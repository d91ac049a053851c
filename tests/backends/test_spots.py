"""A write is its positions one by one, and every source is a sum of what is stored or given."""

import numpy as np
import pytest

from sonde.backends.base import FromRun, FromVector, MeanOf, Minus, Site, Write
from sonde.backends.spots import runs_in, spots, terms
from sonde.errors import BadRequest

ONE, TWO = FromRun("one", (1,)), FromRun("two", (2,), generation=7)
GIVEN = FromVector(np.ones(4, dtype=np.float32))


def test_a_write_at_several_positions_is_a_spot_at_each() -> None:
    write = Write(Site("mlp_in", 3, (5, 2)), GIVEN)

    assert [(s.hook, s.layer, s.position, s.which) for s in spots([write])] == [
        ("mlp_in", 3, 5, 0),
        ("mlp_in", 3, 2, 1),
    ]


def test_a_difference_of_means_is_a_signed_sum() -> None:
    source = Minus(MeanOf((ONE, TWO)), GIVEN)

    assert [(t.source, t.sign, t.of) for t in terms(source)] == [
        (ONE, 1, 2),
        (TWO, 1, 2),
        (GIVEN, -1, 1),
    ]


def test_a_mean_of_a_difference_divides_both_sides() -> None:
    assert [(t.sign, t.of) for t in terms(MeanOf((Minus(ONE, TWO), ONE)))] == [
        (1, 2), (-1, 2), (1, 2),
    ]  # fmt: skip


def test_the_mean_of_nothing_is_refused() -> None:
    with pytest.raises(BadRequest, match="the mean of no sources"):
        terms(MeanOf(()))


def test_every_run_that_is_read_is_named_with_the_generation_that_is_meant() -> None:
    write = Write(Site("mlp_in", 3, (5,)), Minus(ONE, MeanOf((TWO, GIVEN))))

    assert runs_in([write]) == {"one": None, "two": 7}
