"""What a general sweep starts from: prompts in words or tokens, and a foil where none is named."""

from contextlib import ExitStack
from typing import Any

import pytest

from sonde.backends.base import GenerateRequest
from sonde.engine import Limits
from sonde.engine.columns import positions_of
from sonde.engine.setting import Setting, set_up
from sonde.errors import BadRequest, PositionOutOfRange
from sonde.schema.table import FeatureAxis, SweepRequest
from tests.backends.torch.tiny import backend_of
from tests.tiny_model import tiny_llama

BACKEND = backend_of(tiny_llama())
TEXT = "The Eiffel Tower is in the city of"
FEATURES = FeatureAxis(layer=0)


def setting(**fields: Any) -> Setting:
    request = SweepRequest(**{"corrupt": TEXT, "answer": " Paris"} | fields)
    with ExitStack() as cleanup:
        return set_up(BACKEND, request, Limits(prompt_chars=1000), cleanup)


def test_a_prompt_may_be_given_as_its_tokens() -> None:
    words, tokens = setting(clean="The Colosseum"), setting(corrupt=BACKEND.tokenize(TEXT))

    assert tokens.corrupt == words.corrupt
    assert positions_of(setting(corrupt=[5, 6, 7], positions=[2, 0])) == [2, 0]
    assert positions_of(tokens) == positions_of(words)


@pytest.mark.parametrize(
    ("fields", "error", "says"),
    [
        ({"corrupt": [5, -1]}, BadRequest, "prompt token -1 is outside the vocabulary"),
        ({"clean": [10**7]}, BadRequest, "prompt token 10000000 is outside"),
        ({"corrupt": [5] * 1001}, BadRequest, "a prompt of 1001 tokens; at most 1000"),
    ],
)
def test_tokens_that_are_none_are_refused(
    fields: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        setting(**fields)


def test_positions_of_tokens_are_numbers_and_checked_like_any() -> None:
    with pytest.raises(BadRequest, match="give positions as numbers, or the prompt as a text"):
        positions_of(setting(corrupt=[5, 6], positions=[{"span": "Tower"}]))
    with pytest.raises(PositionOutOfRange):
        positions_of(setting(corrupt=[5, 6], positions=[2]))


def likeliest(n: int) -> list[int]:
    asked = GenerateRequest(tuple(BACKEND.tokenize(TEXT)), max_tokens=1, top_logprobs=n)
    [said] = BACKEND.generate(asked)
    return sorted(said.logprobs, key=lambda token: -said.logprobs[token])


def test_features_are_told_against_the_likeliest_token_that_begins_no_answer() -> None:
    first, second, third = likeliest(3)

    def foil(**fields: Any) -> int:
        made = setting(features=FEATURES, **fields)
        [[rival]] = made.question.foils
        assert made.notes == {"foil": BACKEND.detokenize([rival]), "foil_id": str(rival)}
        return rival

    assert foil() == first
    assert foil(answer=first) == second
    assert foil(answer=[first, second]) == third


def test_a_foil_is_chosen_for_features_only_and_only_where_one_is_needed() -> None:
    with pytest.raises(BadRequest, match="name a foil"):
        setting(metric="logit_diff")
    for plain in (
        setting(),
        setting(features=FEATURES, metric="logprob"),
        setting(features=FEATURES, foil=" Rome"),
    ):
        assert plain.notes == {}
    assert setting().question.metrics == ("logprob",)
    assert setting(features=FEATURES).question.metrics == ("logit_diff",)
    both = setting(features=FEATURES, metric="logprob", metrics=["logit_diff"])
    assert both.question.metrics == ("logprob", "logit_diff")
    assert "foil" in both.notes
