"""What a few exact runs say of a cheap ranking."""

import pytest

from sonde.schema.verification import VerifiedCell
from sonde.statistics.verification import spearman, verification


def cells(*pairs: tuple[float, float], sampled: bool = False, first: int = 0) -> list[VerifiedCell]:
    return [
        VerifiedCell(table=0, at=[first + i], attributed=a, exact=e, sampled=sampled)
        for i, (a, e) in enumerate(pairs)
    ]


def test_scores_that_are_exact_leave_nothing_to_miss() -> None:
    first = cells(*[(20.0 - i, 20.0 - i) for i in range(10)])
    drawn = cells(*[(0.1 * i, 0.1 * i) for i in range(100)], sampled=True, first=10)
    found = verification([*first, *drawn], cells=1000)
    assert found.spearman == pytest.approx(1)
    assert found.sign_agreement == 1
    [at] = found.at
    assert (at.k, at.precision, at.threshold, at.stronger_in_sample) == (10, 1.0, 11.0, 0)


def test_the_bound_is_clopper_and_pearsons_of_the_sample_alone() -> None:
    first = cells(*[(10.0 - i, 10.0 - i) for i in range(10)])
    drawn = cells(*[(0.0, 0.5)] * 58 + [(0.0, 20.0)], sampled=True)
    [at] = verification([*first, *drawn], cells=5000).at
    assert at.stronger_in_sample == 1
    assert at.missed_at_most == pytest.approx(0.0779, abs=1e-3)  # 1 of 59, one-sided 95 %
    [none] = verification([*first, *cells(*[(0.0, 0.5)] * 59, sampled=True)], cells=5000).at
    assert none.missed_at_most == pytest.approx(1 - 0.05 ** (1 / 59))


def test_a_strong_cell_of_the_sample_is_the_largest_miss_and_costs_precision() -> None:
    first = cells((3.0, 3.0), (2.0, 2.0), (1.0, 1.0))
    missed = cells((0.0, -9.0), sampled=True, first=3)
    found = verification([*first, *missed], cells=50)
    assert found.largest_miss is not None
    assert found.largest_miss.exact == -9
    assert found.largest_error == found.largest_miss
    assert found.at[0].precision == pytest.approx(2 / 3)


def test_where_every_cell_was_run_nothing_was_missed() -> None:
    [at] = verification(cells((2.0, 1.0), (1.0, 2.0)), cells=2).at
    assert at.missed_at_most == 0


def test_without_a_sample_there_is_no_bound() -> None:
    found = verification(cells((2.0, 1.0), (1.0, 2.0)), cells=3)
    assert found.at[0].missed_at_most is None
    assert found.largest_miss is None


def test_effects_within_the_noise_have_no_sign() -> None:
    found = verification(cells((1.0, -0.1), (1.0, 2.0)), cells=2, noise=0.5)
    assert found.sign_agreement == 1
    assert verification(cells((1.0, 0.0)), cells=1).sign_agreement is None


def test_a_constant_has_no_rank_correlation() -> None:
    found = verification(cells((0.0, 1.0), (0.0, 2.0), (0.0, 3.0)), cells=3)
    assert found.spearman is None
    assert verification([], cells=0).at == []


def test_ranks_are_compared_and_not_values() -> None:
    import numpy as np

    assert spearman(np.array([1.0, 2.0, 3.0]), np.array([1.0, 4.0, 90.0])) == pytest.approx(1)
