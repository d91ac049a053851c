"""Chat completions look as OpenAI's do."""

from typing import Any

from openai.types.chat import ChatCompletion, ChatCompletionChunk

from sonde.engine import Limits
from sonde.schema import ChatRequest
from sonde.schema.completion import PromptLogprob
from sonde.server.completion.admit import admit_chat
from sonde.server.completion.chat_shape import ChatShape
from sonde.server.completion.naming import Named
from sonde.server.completion.shape import Tally, gathered
from sonde.server.completion.showing import PromptShown, TokenShown
from sonde.server.completion.work import ChoiceDelta
from tests.scripted import Scripted

END, PARIS = Named(0, "token_id:0", None, -1.5), Named(9, " é", " é", -0.5)
SHOWN = TokenShown(PARIS, (PARIS, END), offset=0)
MADE = [ChoiceDelta(0, " é", SHOWN, generated=1), ChoiceDelta(0, finish="stop")]


def tally(**fields: Any) -> Tally:
    given = {"messages": [{"role": "user", "content": "The"}], "max_tokens": 2} | fields
    request = ChatRequest.model_validate(given)
    return Tally(admit_chat(request, Scripted(), {}, Limits()))


def test_a_whole_answer_is_one_that_openais_client_reads() -> None:
    counted = tally(logprobs=True)
    answer = ChatShape().whole(counted, gathered(counted, MADE)).model_dump()
    theirs = ChatCompletion.model_validate(answer, strict=True)
    choice = theirs.choices[0]
    assert (choice.message.role, choice.message.content) == ("assistant", " é")
    assert (theirs.object, choice.finish_reason) == ("chat.completion", "stop")
    assert choice.logprobs is not None
    assert choice.logprobs.content is not None
    token = choice.logprobs.content[0]
    assert (token.token, token.logprob, token.bytes) == (" é", -0.5, list(" é".encode()))
    assert [(top.token, top.bytes) for top in token.top_logprobs][1] == ("token_id:0", None)
    assert theirs.usage is not None
    assert (theirs.usage.prompt_tokens, theirs.usage.completion_tokens) == (3, 1)


def test_log_probabilities_are_null_unless_asked_for() -> None:
    counted = tally()
    answer = ChatShape().whole(counted, gathered(counted, [ChoiceDelta(0, "a", finish="stop")]))
    assert answer.choices[0].logprobs is None


def test_chunks_say_who_speaks_then_what_then_why_it_ended() -> None:
    counted, shape = tally(logprobs=True), ChatShape()
    found = [
        ChatCompletionChunk.model_validate(chunk.model_dump(), strict=True)
        for piece in MADE
        for chunk in shape.chunks(counted, piece)
    ]
    deltas = [chunk.choices[0].delta for chunk in found]
    assert [(delta.role, delta.content) for delta in deltas] == [
        ("assistant", ""), (None, " é"), (None, None),
    ]  # fmt: skip
    assert [chunk.choices[0].finish_reason for chunk in found] == [None, None, "stop"]
    assert found[1].choices[0].logprobs is not None


def test_each_choice_is_begun_once() -> None:
    counted, shape = tally(n=2), ChatShape()
    count = [len(shape.chunks(counted, ChoiceDelta(i, "a"))) for i in (0, 0, 1, 1)]
    assert count == [2, 1, 2, 1]


def test_the_count_comes_without_choices() -> None:
    usage = ChatShape().usage(tally()).model_dump()
    assert (usage["choices"], usage["usage"]["prompt_tokens"]) == ([], 3)


LISTED = [None, {"9": PromptLogprob(logprob=-0.5, rank=1, decoded_token=" é")}]
DUMPED = [None, {"9": {"logprob": -0.5, "rank": 1, "decoded_token": " é"}}]


def test_13_a_scored_prompt_and_a_reason_are_shown_once() -> None:
    counted, shape = tally(n=2, prompt_logprobs=0), ChatShape()
    made = [
        piece
        for i in range(2)
        for piece in (
            ChoiceDelta(i, prompt=PromptShown((), LISTED)),
            ChoiceDelta(i, "a", finish="stop", reason=7),
        )
    ]
    whole = ChatShape().whole(counted, gathered(counted, made)).model_dump()
    assert whole["prompt_logprobs"] == DUMPED
    assert [choice["stop_reason"] for choice in whole["choices"]] == [7, 7]
    chunks = [chunk.model_dump() for piece in made for chunk in shape.chunks(counted, piece)]
    assert [chunk.get("prompt_logprobs") for chunk in chunks] == [DUMPED, *[None] * 5]
    assert [chunk["choices"][0]["stop_reason"] for chunk in chunks] == [None, None, 7] * 2
