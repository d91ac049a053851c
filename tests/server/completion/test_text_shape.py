"""Completions look as OpenAI's do."""

from typing import Any

from openai.types import Completion as Theirs

from sonde.engine import Limits
from sonde.schema import CompletionRequest
from sonde.server.completion.admit import admit_completion
from sonde.server.completion.naming import Named
from sonde.server.completion.shape import Tally, gathered
from sonde.server.completion.showing import PromptShown, TokenShown
from sonde.server.completion.text_shape import TextShape
from sonde.server.completion.work import ChoiceDelta
from tests.scripted import Scripted

PARIS, ROME = Named(9, " Paris", " Paris", -0.5), Named(10, " Rome", " Rome", -1.5)
SHOWN = TokenShown(PARIS, (PARIS, ROME), offset=3)
MADE = [ChoiceDelta(0, " Paris", SHOWN, generated=1), ChoiceDelta(0, "!", finish="stop")]


def tally(**fields: Any) -> Tally:
    request = CompletionRequest(prompt=[1, 2], max_tokens=2, **fields)
    return Tally(admit_completion(request, Scripted(), {}, Limits()))


def test_a_whole_answer_is_one_that_openais_client_reads() -> None:
    counted = tally(logprobs=2)
    answer = TextShape().whole(counted, gathered(counted, MADE)).model_dump()
    theirs = Theirs.model_validate(answer, strict=True)
    choice = theirs.choices[0]
    assert (theirs.object, theirs.model, choice.text) == ("text_completion", "scripted", " Paris!")
    assert choice.finish_reason == "stop"
    assert choice.logprobs is not None
    assert choice.logprobs.top_logprobs == [{" Paris": -0.5, " Rome": -1.5}]
    assert choice.logprobs.tokens == [" Paris"]
    assert choice.logprobs.token_logprobs == [-0.5]
    assert choice.logprobs.text_offset == [3]
    assert theirs.usage is not None
    assert theirs.usage.total_tokens == 3


def test_log_probabilities_are_null_unless_asked_for() -> None:
    counted = tally()
    answer = TextShape().whole(counted, gathered(counted, [ChoiceDelta(0, "a", finish="stop")]))
    assert answer.choices[0].logprobs is None
    empty = TextShape().whole(
        tally(logprobs=0), gathered(counted, [ChoiceDelta(0, finish="length")])
    )
    assert empty.choices[0].logprobs is not None


def test_what_says_nothing_is_no_chunk() -> None:
    assert TextShape().chunks(tally(), ChoiceDelta(0, generated=1)) == []


def test_a_chunk_is_a_small_completion() -> None:
    [first] = TextShape().chunks(tally(logprobs=2), MADE[0])
    [last] = TextShape().chunks(tally(), MADE[1])
    assert "usage" not in first.model_dump()
    assert "capture_results" not in last.model_dump()
    made = first.model_dump()["choices"][0]
    assert (made["text"], made["finish_reason"]) == (" Paris", None)
    assert made["logprobs"]["tokens"] == [" Paris"]
    assert last.model_dump()["choices"][0]["finish_reason"] == "stop"


def test_the_count_comes_without_choices() -> None:
    counted = tally()
    counted.pieces(MADE)
    usage = TextShape().usage(counted).model_dump()
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == 1


FIRST = TokenShown(Named(1, "The", "The", 0.0), (), offset=0, scored=False)
LISTED: Any = [None, {"9": {"logprob": -0.5, "rank": 1, "decoded_token": " Paris"}}]
SCORED = PromptShown((FIRST, SHOWN), LISTED)


def test_13_an_echoed_prompt_comes_before_the_rest_and_its_first_token_has_no_number() -> None:
    counted = tally(logprobs=2, echo=True, prompt_logprobs=0)
    made = [
        ChoiceDelta(0, "The Paris", prompt=SCORED),
        *MADE[:1],
        ChoiceDelta(0, finish="stop", reason="!"),
    ]
    choice = TextShape().whole(counted, gathered(counted, made)).model_dump()["choices"][0]
    assert choice["logprobs"]["tokens"] == ["The", " Paris", " Paris"]
    assert choice["logprobs"]["token_logprobs"] == [None, -0.5, -0.5]
    assert choice["logprobs"]["top_logprobs"][0] is None
    assert (choice["stop_reason"], choice["prompt_logprobs"]) == ("!", LISTED)
    [first] = TextShape().chunks(counted, made[0])
    [last] = TextShape().chunks(counted, made[2])
    chunk, end = (each.model_dump()["choices"][0] for each in (first, last))
    assert (chunk["text"], chunk["prompt_logprobs"]) == ("The Paris", LISTED)
    assert chunk["logprobs"]["token_logprobs"] == [None, -0.5]
    assert end["stop_reason"] == "!"
    assert "prompt_logprobs" not in end
