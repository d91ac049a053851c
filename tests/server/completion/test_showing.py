"""A prompt's log-probabilities, as echoes and as lists of their own."""

import math

from sonde.backends.base import GeneratedToken, PromptToken
from sonde.server.completion.admit import Prompt, PromptScoring
from sonde.server.completion.decoding import InnerText
from sonde.server.completion.naming import FLOOR, TokenNames
from sonde.server.completion.showing import PromptShown, prompt_shown, token_shown
from tests.scripted import Scripted

NAMES = TokenNames(InnerText(Scripted()))
PROMPT = Prompt((0, 7, 9), " city Paris", (0, 0, 5))
SCORED = (
    PromptToken(7, -2.0, 5, {9: -0.5, 10: -1.0}),
    PromptToken(9, -0.5, 1, {9: -0.5, 10: -1.0}),
)


def test_a_token_begins_after_what_it_did_not_complete() -> None:
    shown = token_shown(GeneratedToken(9, -0.5, {10: -1.0}), "x Paris", 4, NAMES)
    assert (shown.chosen.name, shown.offset) == (" Paris", 5)
    assert [named.name for named in shown.others] == [" Paris", " Rome"]


def test_13_nothing_is_shown_that_was_not_asked_for() -> None:
    assert prompt_shown(PROMPT, SCORED, PromptScoring(), NAMES) == PromptShown((), None)


def test_13_an_echo_has_every_token_and_the_first_without_a_number() -> None:
    first, second, third = prompt_shown(PROMPT, SCORED, PromptScoring(echoed=1), NAMES).echoed
    assert (first.chosen.name, first.scored, first.others) == ("token_id:0", False, ())
    assert [named.name for named in second.others] == [" Paris", " city"]
    assert [named.name for named in third.others] == [" Paris"]
    assert [each.offset for each in (first, second, third)] == [0, 0, 5]


def test_13_a_list_is_by_token_id_with_ranks() -> None:
    listed = prompt_shown(PROMPT, SCORED, PromptScoring(echoed=0, listed=2), NAMES).listed
    assert listed is not None
    assert listed[0] is None
    assert listed[1] is not None
    assert {token: each.model_dump() for token, each in listed[1].items()} == {
        "7": {"logprob": -2.0, "rank": 5, "decoded_token": " city"},
        "9": {"logprob": -0.5, "rank": 1, "decoded_token": " Paris"},
        "10": {"logprob": -1.0, "rank": 2, "decoded_token": " Rome"},
    }
    assert listed[2] is not None
    assert list(listed[2]) == ["9", "10"]


def test_13_what_is_impossible_has_a_floor() -> None:
    scored = (PromptToken(7, -math.inf, 17, {}), SCORED[1])
    shown = prompt_shown(PROMPT, scored, PromptScoring(0, 0), NAMES)
    assert shown.echoed[1].chosen.logprob == FLOOR
    assert shown.listed is not None
    assert shown.listed[1] is not None
    assert shown.listed[1]["7"].logprob == FLOOR
