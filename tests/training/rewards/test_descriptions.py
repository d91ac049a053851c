from collections import Counter

from sonde.training.rewards.catalog import load_catalog
from sonde.training.rewards.descriptions import EXAMPLES, questions
from sonde.training.rewards.grammar import parse
from sonde.training.rewards.topics import load_topics
from sonde.training.rewards.verifier import CatalogVerifier

CATALOG = load_catalog()


def test_every_question_has_an_answer_worth_everything() -> None:
    verify = CatalogVerifier(CATALOG, load_topics())
    for question in questions(CATALOG, 90, seed=1):
        assert verify(question.prompt, question.target, target=question.target).reward == 1
        assert question.prompt.endswith(" =")


def test_the_examples_are_right_and_share_no_term_with_a_question() -> None:
    assert all(CATALOG.knows(parse(formula)) for _, formula in EXAMPLES)
    shown = {term for _, formula in EXAMPLES for term in parse(formula).fillers}
    for question in questions(CATALOG, 300, seed=0):
        assert not shown & set(parse(question.target).fillers)


def test_the_same_seed_asks_the_same_and_a_longer_run_begins_alike() -> None:
    few, many = questions(CATALOG, 10, seed=3), questions(CATALOG, 40, seed=3)
    assert many[:10] == few
    assert questions(CATALOG, 10, seed=4) != few


def test_templates_take_turns() -> None:
    names = Counter(parse(each.target).name for each in questions(CATALOG, 30, seed=0))
    assert names == {"made_of": 10, "part_of": 10, "lives_in": 10}
