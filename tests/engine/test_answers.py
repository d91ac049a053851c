"""Answers of one or several tokens, one or several of them: graded as their probabilities say."""

import math

import pytest

from sonde.backends.base import Column
from sonde.engine.answers import Grades, Question, Reading
from sonde.schema.table import TableMetric

CORRUPT, CLEAN = (1, 2, 3), (1, 4, 3)


def question(
    answers: tuple[tuple[int, ...], ...] = ((7,),),
    foils: tuple[tuple[int, ...], ...] = (),
    metrics: tuple[TableMetric, ...] = ("logprob",),
) -> Question:
    return Question(answers, foils, metrics, CORRUPT, CLEAN)


def test_one_token_is_read_at_the_end_of_the_prompt_itself() -> None:
    asked = question()

    assert asked.variants == [()]
    assert asked.readout((), 3, ["logprob"]).columns == (Column("logprob", 7),)


def test_a_difference_alone_needs_no_normaliser() -> None:
    asked = question(foils=((8,),), metrics=("logit_diff", "recovered"))

    assert asked.quantity(["logit", "logprob"]) == "logit"
    assert asked.quantity(["logprob"]) == "logprob"  # a backend that tells no logits
    assert question(metrics=("recovered",)).quantity(["logit", "logprob"]) == "logprob"
    beside = question(foils=((8,),), metrics=("logit_diff", "prob"))
    assert beside.quantity(["logit", "logprob"]) == "logprob"


def test_each_token_of_an_answer_is_read_after_those_before_it() -> None:
    asked = question(answers=((7, 8, 9),), foils=((5,),))

    assert asked.variants == [(7, 8), ()]
    assert asked.readout((7, 8), 3, ["logprob"]).columns == (
        Column("logprob", 7, 2), Column("logprob", 8, 3), Column("logprob", 9, -1),
    )  # fmt: skip
    assert asked.readout((), 3, ["logprob"]).columns == (Column("logprob", 5),)
    read = asked.read([[-1.0, -2.0, -3.0], [-4.0]])
    assert (read.answer, read.foil, read.difference) == (-6.0, -4.0, -2.0)


def test_answers_that_begin_alike_share_a_variant() -> None:
    assert question(answers=((7, 8), (7, 9))).variants == [(7,)]


def test_probabilities_of_several_answers_are_added() -> None:
    asked = question(answers=((7,), (8,)), foils=((5,), (6,)))
    read = asked.read([[math.log(0.1), math.log(0.2), math.log(0.05), math.log(0.15)]])

    assert math.exp(read.answer) == pytest.approx(0.3)
    assert read.difference == pytest.approx(math.log(0.3 / 0.2))


def test_what_is_of_the_whole_distribution_is_read_after_the_prompt_itself() -> None:
    asked = question(answers=((7, 8),), metrics=("rank", "kl_clean", "kl_corrupt", "top1"))

    assert asked.variants == [(), (7,)]
    assert asked.readout((), 3, ["logprob"]).columns == (
        Column("rank", 7), Column("kl", against=CLEAN), Column("kl", against=CORRUPT),
        Column("rank", 7),
    )  # fmt: skip
    read = asked.read([[4.0, 0.5, 0.0, 4.0], [-1.0, -1.0]])
    assert read.whole == {"rank": [4.0], "kl_clean": [0.5], "kl_corrupt": [0.0], "top1": [4.0]}


def reading(answer: float, foil: float | None = None) -> Reading:
    return Reading(answer, foil, {})


def test_recovered_is_a_share_of_the_logit_difference_where_there_is_a_foil() -> None:
    grades = Grades(question(foils=((8,),)), reading(-5.0, -1.0), reading(-1.0, -3.0))

    assert grades.of("recovered", reading(-2.0, -2.0)) == pytest.approx(4 / 6)
    assert grades.scale("recovered") == 6.0
    without = Grades(question(), reading(-5.0), reading(-1.0))
    assert without.of("recovered", reading(-2.0)) == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("clean", "why"),
    [
        (None, "needs a clean prompt"),
        (reading(-5.0), "divides by clean - corrupt"),
        (reading(-math.inf), "not a finite number"),
    ],
)
def test_recovered_without_a_gap_is_null_with_a_reason(clean: Reading | None, why: str) -> None:
    grades = Grades(question(), reading(-5.0), clean)

    assert grades.of("recovered", reading(-2.0)) is None
    assert why in str(grades.why_no_recovery())
    assert grades.scale("recovered") == 1.0


def test_what_is_not_finite_is_null() -> None:
    grades = Grades(question(foils=((8,),)), reading(-5.0, -1.0), None)

    assert grades.of("logprob", reading(-math.inf)) is None
    assert grades.of("logit_diff", reading(math.nan, -1.0)) is None
    assert grades.of("prob", reading(-math.inf)) == 0.0
    assert grades.of("logit_diff", reading(-1.0)) is None


def test_the_best_of_several_answers_decides_rank_and_top1() -> None:
    grades = Grades(question(), reading(-5.0), None)
    told = Reading(-1.0, None, {"rank": [3.0, 0.0], "top1": [3.0, 0.0]})

    assert (grades.of("rank", told), grades.of("top1", told)) == (0.0, 1.0)
