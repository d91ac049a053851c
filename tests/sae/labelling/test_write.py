"""A label has the score that its detection earned, or there is none."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import pytest

from sonde.sae.labelling.snippets import Trial
from sonde.sae.labelling.write import answered, marked, score, write_label
from sonde.schema.feature import Feature, Snippet

PARTS: tuple[Literal["top", "middle", "low"], ...] = ("top", "top", "middle", "low")
SNIPPETS = [
    Snippet(tokens=["the", " tower", " of"], heat="190", value=float(9 - n), part=part)
    for n, part in enumerate(PARTS)
]
FEATURE = Feature(feature=3, rate=0.1, promoted=[], suppressed=[], snippets=SNIPPETS)
TRIALS = [Trial(f"a tower {n}", active=True) for n in range(6)]
TRIALS += [Trial(f"a river {n}", active=False) for n in range(6)]


@dataclass
class Scripted:
    says: Callable[[str], str]
    name: str = "somebody"

    def answer(self, system: str, user: str, most_tokens: int) -> str:
        return self.says(user) if system.startswith("You are given") else self.explain(user)

    def explain(self, user: str) -> str:
        assert user.count("« tower»") == 3, "top and middle, the strongest token marked"
        return ' "Towers." \nand more'


def test_a_true_label_scores_one_and_a_wrong_one_zero() -> None:
    knows = Scripted(lambda user: "1" if "tower" in user.partition("Text:")[2] else "0")
    written = write_label(FEATURE, TRIALS, knows, knows)
    assert written.label is not None
    assert (written.label.text, written.label.source) == ("Towers", "somebody")
    assert (written.label.score, written.label.measure, written.label.examples) == (
        1.0, "detection", 12,
    )  # fmt: skip
    wrong = score("Rivers", "me", TRIALS, Scripted(lambda u: "1" if "a river" in u else "0"))
    assert wrong.label is not None
    assert wrong.label.score == 0
    always = score("Towers", "me", TRIALS, Scripted(lambda _user: "1"))
    assert always.label is not None
    assert always.label.score == 0.5, "who always says yes knows nothing"


def test_without_enough_answers_there_is_no_label() -> None:
    vague = score("Towers", "me", TRIALS, Scripted(lambda _user: "perhaps"))
    assert vague.label is None
    assert vague.reason is not None
    assert "neither 0 nor 1: 0 snippets where it is active and 0 where it is not" in vague.reason
    few = write_label(FEATURE, TRIALS[:8], Scripted(lambda _user: "1"), Scripted(lambda _u: "1"))
    assert few.reason == (
        "the held-out text has 6 snippets where it is active and 2 where it is not, of 5 needed"
    )
    dead = FEATURE.model_copy(update={"snippets": []})
    assert write_label(dead, TRIALS, Scripted(str), Scripted(str)).label is None


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("1", True), (" 0.", False), ("1\n", True), ("Yes, it does", True), ("no", False),
        ("10", None), ("", None), ("perhaps 1", None), ("**1**", True), ("2", None),
    ],
)  # fmt: skip
def test_answers_are_yes_no_or_neither(said: str, means: bool | None) -> None:
    assert answered(said) is means


def test_the_strongest_token_is_marked() -> None:
    assert marked(SNIPPETS[0]) == "the« tower» of"
