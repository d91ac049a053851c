import pytest

from sonde.training.rewards.catalog import load_catalog
from sonde.training.rewards.scores import INVALID, Scores
from sonde.training.rewards.topics import load_topics
from sonde.training.rewards.verifier import CatalogVerifier

verify = CatalogVerifier(load_catalog(), load_topics())


def grade(completion: str, target: str = "made_of(spoon, wood)") -> Scores:
    return verify("prompt", completion, target=target)


def test_the_right_composition_gets_everything() -> None:
    assert grade(" made_of(spoon, wood)").reward == pytest.approx(1)
    assert grade("made_of(spoon, wood)\n").reward == pytest.approx(1)


def test_what_follows_costs_a_little() -> None:
    assert grade("made_of(spoon, wood)\nThe end").reward == pytest.approx(0.95)


def test_slots_count_one_by_one_and_in_their_place() -> None:
    assert grade("made_of(spoon, glass)").b == 0.5
    assert grade("part_of(wheel, car)", "part_of(car, wheel)").b == 0


def test_a_related_template_counts_in_part() -> None:
    other = grade("part_of(wheel, car)", "made_of(spoon, wood)")
    assert other.a
    assert 0 < other.d < 1


@pytest.mark.parametrize("completion", ["", "wood", "made_of(spoon", "made_of(spoon, wood) ok"])
def test_what_does_not_parse_is_invalid(completion: str) -> None:
    assert grade(completion) == INVALID


def test_what_the_catalog_does_not_know_fails_the_gate_without_being_invalid() -> None:
    found = grade("made_of(unicorn, wood)")
    assert (found.a, found.invalid, found.reward) == (False, False, 0)
