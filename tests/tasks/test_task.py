"""Pairs follow from a task's name and a seed, and every one of them is fit to be swept."""

import random

import pytest

import sonde
from sonde.errors import BadRequest
from sonde.tasks import TASKS, Pairs, task
from sonde.tasks.agreement import AGREEMENT
from sonde.tasks.facts import CITY, STANDS_IN
from sonde.tasks.fitness import same_question, trouble
from sonde.tasks.greater import GREATER_THAN
from sonde.tasks.induction import INDUCTION, WORDS
from sonde.tasks.objects import IOI
from sonde.tasks.pronouns import PRONOUNS
from sonde.tasks.task import Task, Variant

DIGESTS = {
    "agreement": "399aab05d084d619",
    "ioi": "3945ebe2f6185187",
    "capitals": "0ec3139783a7448a",
    "landmarks": "cf7bfa468983be74",
    "greater-than": "c50df5091a273622",
    "pronouns": "21f5db70dfdf26f6",
    "induction": "0c8be3be835b28f6",
}

each_task = pytest.mark.parametrize("made", TASKS.values(), ids=TASKS)


@each_task
def test_every_pair_is_distinct_and_fit(made: Task) -> None:
    pairs = made.pairs(min(made.n, 1000), seed=1)
    assert len({same_question(pair) for pair in pairs}) == len(pairs)
    assert [why for pair in pairs if (why := trouble(pair))] == []


@each_task
def test_a_pair_has_an_answer_a_foil_roles_and_a_cluster(made: Task) -> None:
    for pair in made.pairs(200):
        assert pair.foil is not None
        assert pair.roles
        assert pair.cluster
        for prompt in (pair.clean, pair.corrupt):
            assert isinstance(prompt, str)
            assert prompt == prompt.strip()


@each_task
def test_the_same_seed_gives_the_same_pairs_on_every_python(made: Task) -> None:
    """Digests that were written down: another version of Python, or of a list, would show."""
    assert made.pairs(50, seed=0).digest == DIGESTS[made.name]
    assert made.pairs(50, seed=1).digest != DIGESTS[made.name]


@each_task
def test_fewer_pairs_are_the_beginning_of_more(made: Task) -> None:
    assert made.pairs(30, seed=3).pairs == made.pairs(80, seed=3).pairs[:30]


def test_variants_come_in_turn() -> None:
    kinds = [str(pair.cluster).partition(",")[0] for pair in AGREEMENT.pairs(9)]
    assert kinds == ["simple", "phrase", "clause"] * 3


def test_all_there_are_can_be_had_and_no_more() -> None:
    numbers = Variant("numbers", (range(5),), lambda n: AGREEMENT.variants[0].pair(n))
    small = Task("small", "Five pairs.", (numbers,))
    assert {pair.clean for pair in small.pairs(5)} == {numbers.pair(n).clean for n in range(5)}
    with pytest.raises(BadRequest, match="6 pairs of 'small'; there are 5 distinct ones"):
        small.pairs(6)
    with pytest.raises(BadRequest, match="0 pairs"):
        small.pairs(0)


def test_a_variant_that_has_run_out_leaves_the_rest_to_the_others() -> None:
    few = Variant("few", (range(2),), lambda n: AGREEMENT.variants[0].pair(n))
    many = Variant("many", (range(50),), lambda n: AGREEMENT.variants[1].pair(n))
    assert len(Task("both", "Two sorts.", (few, many)).pairs(40)) == 40


def test_the_order_is_random_and_not_that_of_the_lists() -> None:
    clean = [pair.clean for pair in task("capitals").pairs(100)]
    assert clean != sorted(clean)
    assert len({pair.cluster for pair in task("capitals").pairs(100)}) > 30


def test_nobody_elses_dice_are_touched() -> None:
    random.seed(5)
    before = random.getstate()
    sonde.pairs("induction", n=20)
    assert random.getstate() == before


def test_an_unknown_task_lists_those_there_are() -> None:
    with pytest.raises(BadRequest, match=r"no task is called 'irony'; there are agreement, ioi"):
        sonde.pairs("irony")


def test_pairs_know_where_they_are_from() -> None:
    pairs = sonde.pairs("agreement", n=12, seed=4)
    assert isinstance(pairs, Pairs)
    assert (pairs.name, pairs.seed, pairs.licence, len(pairs)) == ("agreement", 4, "Apache-2.0", 12)
    assert pairs.clusters == [pair.cluster for pair in pairs]


def test_agreement_turns_the_subject_and_nothing_else() -> None:
    for pair in AGREEMENT.pairs(60):
        subject = pair.roles["subject"]
        assert not isinstance(subject, str)
        assert str(pair.clean).replace(subject.clean, subject.corrupt, 1) == pair.corrupt
        plural = subject.clean.endswith("s")
        assert (pair.answer in (" are", " were", " have")) == plural


def test_attractors_have_both_numbers() -> None:
    pairs = [pair for pair in AGREEMENT.pairs(120) if "attractor" in pair.roles]
    plural = [str(pair.roles["attractor"]).endswith("s") for pair in pairs]
    assert 20 < sum(plural) < 60


def test_indirect_objects_are_named_once_and_givers_twice() -> None:
    for pair in IOI.pairs(60):
        receiver, giver = str(pair.answer), str(pair.foil)
        clean, corrupt = str(pair.clean), str(pair.corrupt)
        assert (clean.count(receiver), clean.count(giver)) == (1, 2)
        assert (corrupt.count(receiver), corrupt.count(giver)) == (2, 1)
        first = clean.index(receiver) < clean.index(giver)
        assert first == str(pair.cluster).startswith("ABBA")


def test_answers_of_greater_than_are_later_in_the_clean_prompt_and_foils_in_the_corrupt() -> None:
    for pair in GREATER_THAN.pairs(60):
        year = pair.roles["tens"]
        assert not isinstance(year, str)
        assert isinstance(pair.answer, list)
        assert isinstance(pair.foil, list)
        assert min(map(int, pair.answer)) > int(year.clean[-1]) or min(map(int, pair.foil)) > int(
            year.corrupt[-1]
        )
        assert not set(pair.answer) & set(pair.foil)


def test_induction_goes_on_as_the_list_did() -> None:
    for pair in INDUCTION.pairs(60):
        for prompt, said in ((pair.clean, pair.answer), (pair.corrupt, pair.foil)):
            words = str(prompt).split()[1:]
            period = next(n for n in range(1, len(words)) if words[n] == words[0])
            assert words[len(words) - period] == str(said).strip()
    assert not any(one != two and two.startswith(one) for one in WORDS for two in WORDS)


def test_pronouns_have_the_gender_of_the_name() -> None:
    answers = {pair.answer for pair in PRONOUNS.pairs(60)}
    assert answers == {" she", " he", " her", " his"}


def test_no_fact_gives_its_answer_away() -> None:
    assert not any(city in country for country, city in CITY.items())
    assert not any(city in place for alike in STANDS_IN for place, city in alike.items())


@pytest.mark.slow
@each_task
def test_prompts_of_a_pair_have_one_length_and_answers_one_token(
    made: Task, smollm2: sonde.Model
) -> None:
    backend = smollm2.backend
    for pair in made.pairs(200):
        clean, corrupt = (backend.tokenize(str(prompt)) for prompt in (pair.clean, pair.corrupt))
        assert len(clean) == len(corrupt), pair.clean
        for given in (pair.answer, pair.foil):
            for one in given if isinstance(given, list) else [given]:
                assert len(backend.tokenize(str(one), special=False)) == 1


@pytest.mark.slow
@each_task
def test_the_default_model_is_mostly_right(made: Task, smollm2: sonde.Model) -> None:
    """On a sample; the page has the figures of 200."""
    assert len(made.pairs(60).check(smollm2)) >= 0.8 * 60
