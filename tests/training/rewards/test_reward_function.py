import logging
from typing import Any

import pytest

from sonde.errors import BadReward
from sonde.training.rewards.reward_function import RewardFunction
from sonde.training.rewards.scores import Scores


class Noted(dict[str, list[Any]]):
    def __call__(self, column: str, values: list[Any]) -> None:
        self[column] = values


def test_a_verifier_is_asked_about_each_completion_with_its_columns() -> None:
    asked = []

    def verify(prompt: str, completion: str, *, target: str) -> float:
        asked.append((prompt, completion, target))
        return len(completion) / 10

    reward = RewardFunction(verify)
    found = reward(
        ["p", "q"], ["one", "three"], target=["a", "b"], trainer_state=None, completion_ids=[[], []]
    )
    assert found == [0.3, 0.5]
    assert asked == [("p", "one", "a"), ("q", "three", "b")]


def test_the_parts_of_a_reward_are_handed_to_the_trainer() -> None:
    noted = Noted()
    reward = RewardFunction(lambda prompt, completion: Scores(completion == "yes", b=1.0))
    assert reward(["p", "p"], ["yes", "no"], log_extra=noted) == [0.5, 0.0]
    assert noted == {
        "R_A": [1.0, 0.0],
        "R_B": [1.0, 1.0],
        "R_C": [0.0, 0.0],
        "R_D": [0.0, 0.0],
        "invalid": [False, False],
    }


def test_a_plain_number_has_no_parts() -> None:
    noted = Noted()
    assert RewardFunction(lambda p, c: 1)(["p"], ["c"], log_extra=noted) == [1.0]
    assert noted == {}


def test_a_verifier_that_raises_gives_nothing_for_that_completion_and_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def verify(prompt: str, completion: str) -> Scores:
        if completion == "bad":
            raise ZeroDivisionError("oops")
        return Scores(True, 1, 1, 1)

    noted = Noted()
    with caplog.at_level(logging.WARNING):
        found = RewardFunction(verify)(["p"] * 3, ["good", "bad", "bad"], log_extra=noted)
    assert found == [pytest.approx(1), 0, 0]
    assert noted["invalid"] == [False, True, True]
    assert noted["R_A"] == [1.0, 0.0, 0.0]
    assert len(caplog.records) == 1
    assert "oops" in caplog.text


def test_parts_out_of_range_are_a_bug_in_the_plug_in_and_stop_the_run() -> None:
    with pytest.raises(BadReward, match="R_B"):
        RewardFunction(lambda p, c: Scores(True, b=7))(["p"], ["c"])


def test_conversations_are_graded_by_their_text() -> None:
    reward = RewardFunction(lambda prompt, completion: float(prompt == "hi" and completion == "ho"))
    said = [[{"role": "assistant", "content": "ho"}]]
    assert reward([[{"role": "user", "content": "hi"}]], said) == [1.0]
