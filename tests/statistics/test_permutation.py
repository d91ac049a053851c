import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.statistics import permutation
from sonde.statistics.permutation import adjusted, chances, folds, least, normal_chances
from tests.runs.analytics import plain

GENERATION = st.tuples(st.booleans(), st.booleans())
GROUPS = st.lists(st.lists(GENERATION, min_size=1, max_size=5), min_size=1, max_size=4)


def folded(groups: list[list[tuple[bool, bool]]]) -> float:
    has = np.array([[sum(has for _, has in group) for group in groups]])
    seen = np.array([sum(gate and has for group in groups for gate, has in group)])
    passed = np.array([sum(gate for gate, _ in group) for group in groups])
    return float(chances(has, seen, passed, np.array([len(group) for group in groups]))[0])


@settings(deadline=None)
@given(GROUPS)
def test_the_chance_is_that_of_dealing_gates_in_every_possible_way(
    groups: list[list[tuple[bool, bool]]],
) -> None:
    dealt = [([gate for gate, _ in group], [has for _, has in group]) for group in groups]
    assert folded(groups) == pytest.approx(plain.chance(dealt), rel=1e-12)


def test_it_agrees_with_shuffling_many_times() -> None:
    rng = np.random.default_rng(0)
    groups = [rng.random((8, 2)) < (0.5, 0.4) for _ in range(12)]
    exact = folded([[(bool(gate), bool(has)) for gate, has in group] for group in groups])
    seen = sum(int((group[:, 0] & group[:, 1]).sum()) for group in groups)
    throws = np.zeros(4000, int)
    for group in groups:
        gates = np.array([rng.permutation(group[:, 0]) for _ in range(len(throws))])
        throws += (gates & group[:, 1]).sum(axis=1)
    share = float((throws >= seen).mean())
    assert share == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / len(throws)))


def test_very_small_chances_keep_their_digits() -> None:
    """Forty groups of two, the feature always in the passed one: (1/2)^40."""
    groups = [[(True, True), (False, False)]] * 40
    assert folded(groups) == pytest.approx(0.5**40, rel=1e-9)


def test_features_taken_in_turns_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    sizes, passed = np.full(6, 8), rng.integers(1, 8, 6)
    has = rng.integers(0, 9, (30, 6))
    seen = np.minimum(has, passed).sum(axis=1) - 2
    together = chances(has, seen.clip(0), passed, sizes)
    monkeypatch.setattr(permutation, "AT_ONCE", 50)
    assert chances(has, seen.clip(0), passed, sizes).tolist() == together.tolist()
    assert chances(has[:0], seen[:0], passed, sizes).tolist() == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_q_is_that_of_benjamini_and_hochberg(p: list[float]) -> None:
    assert adjusted(np.array(p)).tolist() == pytest.approx(plain.adjusted(p))


def test_false_discoveries_stay_below_the_rate_when_nothing_is_true() -> None:
    """200 families of 50 uniform p: at 5 %, a family has a discovery with chance 5 %."""
    rng = np.random.default_rng(2)
    hits = sum(bool((adjusted(rng.random(50)) <= 0.05).any()) for _ in range(200))
    assert hits <= 200 * 0.05 + 5 * np.sqrt(200 * 0.05 * 0.95)


@settings(deadline=None)
@given(GROUPS)
def test_no_dealing_of_the_gates_gives_less_than_the_least(
    groups: list[list[tuple[bool, bool]]],
) -> None:
    best = [
        (sorted(gate for gate, _ in group), sorted(has for _, has in group)) for group in groups
    ]
    has = np.array([[sum(each) for _, each in best]])
    passed = np.array([sum(gates) for gates, _ in best])
    found = least(has, passed, np.array([len(gates) for gates, _ in best]))
    assert found[0] == pytest.approx(plain.chance(best), rel=1e-12)


def test_of_many_groups_the_normal_distribution_gives_nearly_the_same() -> None:
    rng = np.random.default_rng(4)
    sizes, passed = np.full(300, 8), rng.integers(1, 8, 300)
    has = rng.integers(0, 9, (40, 300))
    expected = (has * passed / sizes).sum(axis=1)
    seen = (expected + np.linspace(-40, 40, 40)).astype(int)
    exact = chances(has, seen, passed, sizes)
    assert normal_chances(has, seen, passed, sizes) == pytest.approx(exact, abs=1e-3)
    everywhere = np.full((1, 300), 8)
    assert normal_chances(everywhere, passed.sum()[None], passed, sizes).tolist() == [1.0]
    assert folds(40, passed) > 40 * 300
