"""Everything wrong with a request is found before it waits for the model."""

from typing import Any

import pytest

from sonde.engine import Limits
from sonde.errors import SourceRunDropped
from sonde.schema import ChatRequest, CompletionRequest
from sonde.server.completion.admit import (
    AdmittedRequest,
    Ending,
    PromptScoring,
    Shown,
    admit_chat,
    admit_completion,
)
from sonde.server.errors import OpenAIError
from tests.scripted import LONGEST, WORDS, Scripted

PROMPT = "The Eiffel Tower is"
IDS = [0, 1, 2, 3, 4]
ZEROS = {"layer": 1, "hook": "mlp_out", "dest_position": 2, "source_module": "zeros"}
RUN = {"layer": 1, "hook": "mlp_out", "dest_position": 2, "source_run": "r", "source_position": 0}
CAPTURE = {"patch_source": {"hooks": {"mlp_out": "all"}}}


def asked(
    backend: Scripted | None = None, limits: Limits | None = None, **fields: Any
) -> AdmittedRequest:
    request = CompletionRequest.model_validate({"prompt": PROMPT, "max_tokens": 2} | fields)
    return admit_completion(request, backend or Scripted(), {}, limits or Limits())


def asked_chat(**fields: Any) -> AdmittedRequest:
    messages = [{"role": "user", "content": "The Tower"}]
    request = ChatRequest.model_validate({"messages": messages} | fields)
    return admit_chat(request, Scripted(), {}, Limits())


@pytest.mark.parametrize(
    ("prompt", "tokens"),
    [
        (PROMPT, [IDS]),
        ([PROMPT, "The city"], [IDS, [0, 1, 7]]),
        ([4, 5, 6], [[4, 5, 6]]),
        ([[4, 5], [6]], [[4, 5], [6]]),
    ],
)
def test_a_prompt_has_four_forms(prompt: Any, tokens: list[list[int]]) -> None:
    assert [list(each.tokens) for each in asked(prompt=prompt).prompts] == tokens


def test_the_text_is_kept_to_be_echoed() -> None:
    assert [each.text for each in asked(prompt=[PROMPT], echo=True).prompts] == [PROMPT]
    assert [each.text for each in asked(prompt=[1, 2], echo=True).prompts] == ["The Eiffel"]
    assert [each.text for each in asked().prompts] == [""]


def test_what_is_left_out_is_as_in_openais_api() -> None:
    found = asked()
    sampling = found.sampling
    assert (found.n, found.stream, found.include_usage, found.capture_wait) == (1, *[False] * 3)
    assert (sampling.temperature, sampling.top_p, sampling.top_k) == (1.0, 1.0, 0)
    assert (sampling.min_p, sampling.repetition_penalty) == (0.0, 1.0)
    assert found.ending == Ending((), frozenset({0}), frozenset(), False, 0)
    assert found.scoring.most is None
    assert found.shown == Shown()
    with pytest.raises(OpenAIError, match="max_tokens is 16"):
        asked(max_tokens=None)


def test_13_limits_are_taken_as_they_are_sent() -> None:
    sampling = asked(top_k=-1, min_p=0.5, repetition_penalty=2).sampling
    assert (sampling.top_k, sampling.min_p, sampling.repetition_penalty) == (0, 0.5, 2.0)
    assert asked(top_k=7).sampling.top_k == 7


def test_13_named_stop_tokens_are_reasons_and_end_tokens_are_not() -> None:
    ending = asked(stop_token_ids=[0, 3], stop="x", min_tokens=2).ending
    assert ending == Ending(("x",), frozenset({0, 3}), frozenset({3}), False, 2)
    ending = asked(stop_token_ids=[0, 3], ignore_eos=True, include_stop_str_in_output=True).ending
    assert ending == Ending((), frozenset({0, 3}), frozenset({0, 3}), True, 0)
    assert asked(ignore_eos=True).ending.ids == frozenset()


def test_13_a_prompt_is_scored_as_far_as_somebody_asks() -> None:
    assert asked(logprobs=3).scoring == PromptScoring()
    assert asked(logprobs=3, echo=True).scoring == PromptScoring(3, None)
    assert asked(echo=True).scoring.most is None
    both = asked(logprobs=3, echo=True, prompt_logprobs=5)
    assert (both.scoring, both.scoring.most) == (PromptScoring(3, 5), 5)
    assert asked_chat(logprobs=True, prompt_logprobs=0).scoring == PromptScoring(None, 0)


def test_13_a_prompt_is_scored_in_a_pass_that_needs_room_for_a_token() -> None:
    full = [1] * LONGEST
    assert asked(prompt=full, max_tokens=0).sampling.max_tokens == 0
    with pytest.raises(OpenAIError, match="need room for one more, also with max_tokens 0"):
        asked(prompt=full, max_tokens=0, prompt_logprobs=0)


def test_13_a_patch_reaches_a_scored_prompt_without_new_tokens() -> None:
    assert asked(max_tokens=0, prompt_logprobs=0, patch=[ZEROS | {"dest_position": 4}]).writes
    with pytest.raises(OpenAIError, match=r"out of range \[0, 0\)"):
        asked(max_tokens=0, patch=[ZEROS])


def test_13_how_much_is_shown_of_prompts_is_bounded() -> None:
    """21 numbers for each of 10 tokens, a thousand times and some."""
    many = [[1] * 10] * 1024
    assert asked(prompt=many, prompt_logprobs=20)
    with pytest.raises(OpenAIError, match="266240 log-probabilities of prompts; at most 262144"):
        asked(prompt=many, prompt_logprobs=25)
    with pytest.raises(OpenAIError, match="send fewer prompts") as refused:
        asked(prompt=many[:512], echo=True, logprobs=25, n=2)
    assert refused.value.param == "echo"


def test_without_a_seed_one_is_drawn() -> None:
    assert asked().sampling.seed != asked().sampling.seed
    assert asked(seed=-3).sampling.seed == -3


def test_a_chat_has_as_much_room_as_the_model() -> None:
    """Two words and a special token on either side."""
    assert asked_chat().sampling.max_tokens == LONGEST - 4
    assert asked_chat(max_tokens=2).sampling.max_tokens == 2
    assert asked_chat(max_completion_tokens=3).sampling.max_tokens == 3
    assert asked_chat(max_completion_tokens=0).sampling.max_tokens == 0


def test_ids_are_names_that_a_source_run_may_have() -> None:
    plan = asked(capture=CAPTURE)
    assert plan.capture is not None
    assert plan.capture.run == plan.id
    assert plan.id.startswith("cmpl-")
    assert asked_chat().id.startswith("chatcmpl-")


def test_tokens_asked_for_replace_the_likeliest() -> None:
    assert asked(logprobs=3).shown == Shown(True, 3)
    assert asked(logprobs=3, logprob_token_ids=[]).shown == Shown(True, 3)
    assert asked(logprobs=0, logprob_token_ids=[5, 2, 5]).shown == Shown(True, 0, (5, 2))
    assert asked(logprobs=100).shown == Shown(True, len(WORDS))
    assert asked_chat(logprobs=True, top_logprobs=2).shown == Shown(True, 2)
    assert asked_chat(logprobs=True, logprob_token_ids=[5]).shown == Shown(True, 0, (5,))


@pytest.mark.parametrize(
    ("fields", "param", "message"),
    [
        ({"prompt": ""}, "prompt", "the prompt is empty"),
        ({"prompt": []}, "prompt", "the prompt is empty"),
        ({"prompt": [[]]}, "prompt", "the prompt has no tokens"),
        ({"prompt": ["The", ""]}, "prompt", "the prompt has no tokens"),
        ({"prompt": [1, 99]}, "prompt", r"token id 99 is outside the vocabulary \[0, 17\)"),
        ({"prompt": [[1], [-1]]}, "prompt", "token id -1 is outside"),
        ({"prompt": [1] * 13}, "prompt", "the prompt has 13 tokens; scripted takes at most 12"),
        ({"prompt": [[1]] * 1025}, "prompt", "1025 prompts; at most 1024"),
        ({"prompt": [[1]] * 9, "n": 128}, "n", "1152 choices; at most 1024"),
        ({"max_tokens": 8}, "max_tokens", "5 tokens and max_tokens is 8; .* ask for 7 or fewer"),
        ({"stop": ""}, "stop", "a stop string is empty"),
        ({"stop": ["a", ""]}, "stop", "a stop string is empty"),
        ({"stop": ["a"] * 65}, "stop", "65 stop strings; at most 64"),
        ({"logprob_token_ids": [1]}, "logprob_token_ids", "needs logprobs to be set"),
        ({"logprobs": 1, "logprob_token_ids": [17]}, "logprob_token_ids", "token id 17 is outside"),
        ({"logprobs": 1, "logprob_token_ids": [-1]}, "logprob_token_ids", "token id -1 is outside"),
        (
            {"logprobs": 1, "logprob_token_ids": [1] * 129},
            "logprob_token_ids",
            "129 .* at most 128",
        ),
        ({"patch": [ZEROS], "capture": CAPTURE}, "capture", "always of an unpatched prompt"),
        ({"prompt": [[1], [2]], "capture": CAPTURE}, "capture", "capture with 2 prompts"),
        ({"patch": [ZEROS | {"dest_position": 6}]}, "patch", r"out of range \[0, 6\)"),
        ({"patch": [ZEROS], "max_tokens": 0}, "patch", r"out of range \[0, 0\)"),
        ({"patch": [ZEROS], "prompt": [[1], [1, 2, 3]]}, "patch", r"out of range \[0, 2\)"),
        ({"suffix": "x"}, "suffix", "suffix is not supported"),
    ],
)
def test_what_makes_no_sense_is_refused(fields: Any, param: str, message: str) -> None:
    with pytest.raises(OpenAIError, match=message) as refused:
        asked(**fields)
    assert (refused.value.param, refused.value.status_code) == (param, 400)


def test_text_beyond_reason_is_refused_before_it_is_tokenized() -> None:
    with pytest.raises(OpenAIError, match="prompts of 38 characters; at most 30"):
        asked(prompt=[PROMPT, PROMPT], limits=Limits(prompt_chars=30))


def test_source_runs_are_leased_until_they_are_released() -> None:
    backend = Scripted()
    backend.capture("r", IDS, ["mlp_out"], [1], [0])
    found = asked(backend, patch=[RUN, ZEROS | {"layer": 2}])
    assert found.runs == {"r"}
    found.lease(backend)
    assert backend.leases == {("r", found.id)}
    found.release(backend)
    assert not backend.leases
    backend.drop("r")
    with pytest.raises(SourceRunDropped):
        found.lease(backend)
