"""A field is honoured, without effect by nature, or refused by name."""

from typing import Any

import pytest
from openai.types import completion_create_params
from openai.types.chat import completion_create_params as chat_create_params

from sonde.schema import ChatRequest, CompletionRequest
from sonde.server.completion.fields import refuse_chat_fields, refuse_completion_fields
from sonde.server.errors import OpenAIError

HELLO = [{"role": "user", "content": "Hello"}]


def completion(**fields: Any) -> CompletionRequest:
    return CompletionRequest(prompt="p", **fields)


def chat(**fields: Any) -> ChatRequest:
    return ChatRequest(**{"messages": HELLO} | fields)


def test_every_field_of_openais_completions_is_known() -> None:
    standard = set(completion_create_params.CompletionCreateParamsBase.__annotations__)
    assert standard | {"stream"} <= set(CompletionRequest.model_fields)


def test_every_field_of_openais_chat_completions_is_known() -> None:
    standard = set(chat_create_params.CompletionCreateParamsBase.__annotations__)
    assert standard | {"stream"} <= set(ChatRequest.model_fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"presence_penalty": 0.1},
        {"frequency_penalty": -0.1},
        {"logit_bias": {"5": 1}},
        {"suffix": "x"},
        {"best_of": 2},
        {"best_of": 3, "n": 2},
        {"logprob_token_ids": [3], "echo": True, "logprobs": 0, "max_tokens": 0},
        {"stream_options": {"include_usage": True}},
    ],
)
def test_a_completions_field_whose_effect_cannot_be_given_is_refused_by_name(fields: Any) -> None:
    field = next(iter(fields))
    with pytest.raises(OpenAIError, match=field) as refused:
        refuse_completion_fields(completion(**fields))
    assert (refused.value.param, refused.value.status_code) == (field, 400)


def test_a_completions_field_without_effect_is_accepted() -> None:
    refuse_completion_fields(
        completion(
            presence_penalty=0, frequency_penalty=0.0, logit_bias={}, suffix="", best_of=2, n=2,
            echo=True, logprobs=0, user="u", stream=True,
            stream_options={"include_obfuscation": False},
        )
    )  # fmt: skip
    refuse_completion_fields(completion(echo=False, logprobs=5, best_of=1))


@pytest.mark.parametrize(
    "fields",
    [
        {"presence_penalty": 1},
        {"audio": {"voice": "x"}},
        {"modalities": ["text", "audio"]},
        {"tools": [{"type": "function"}]},
        {"tool_choice": "required"},
        {"tool_choice": {"type": "function"}},
        {"functions": [{"name": "f"}]},
        {"function_call": {"name": "f"}},
        {"web_search_options": {}},
        {"response_format": {"type": "json_object"}},
        {"prediction": {"type": "content"}},
        {"moderation": {"model": "m"}},
        {"reasoning_effort": "high"},
        {"verbosity": "low"},
        {"max_completion_tokens": 3, "max_tokens": 4},
        {"continue_final_message": True, "add_generation_prompt": True},
        {"top_logprobs": 2},
        {"top_logprobs": 0, "logprobs": False},
    ],
)
def test_a_chats_field_whose_effect_cannot_be_given_is_refused_by_name(fields: Any) -> None:
    field = next(iter(fields))
    with pytest.raises(OpenAIError, match=field) as refused:
        refuse_chat_fields(chat(**fields))
    assert refused.value.param == field


def test_a_chats_field_without_effect_is_accepted() -> None:
    refuse_chat_fields(
        chat(
            modalities=["text"], tools=[], tool_choice="auto", functions=[], function_call="none",
            response_format={"type": "text"}, reasoning_effort="none", verbosity="medium",
            max_completion_tokens=3, max_tokens=3, top_logprobs=2, logprobs=True, store=True,
            metadata={"a": "b"}, parallel_tool_calls=True, service_tier="auto", user="u",
            safety_identifier="s", prompt_cache_key="k", prompt_cache_retention="24h",
            prompt_cache_options={"mode": "explicit"},
        )
    )  # fmt: skip
    refuse_chat_fields(chat(max_completion_tokens=3))
    refuse_chat_fields(chat(max_tokens=3))


@pytest.mark.parametrize(
    "field", [{"name": "Ann"}, {"tool_calls": [{}]}, {"refusal": "no"}, {"audio": {}}]
)
def test_a_messages_field_that_no_template_writes_is_refused(field: Any) -> None:
    name = next(iter(field))
    messages = [*HELLO, {"role": "assistant", "content": "Hi"} | field]
    with pytest.raises(OpenAIError, match=f"messages.1.{name} is not supported"):
        refuse_chat_fields(chat(messages=messages))


def test_an_answer_can_be_sent_back_as_it_came() -> None:
    answer: dict[str, Any] = {
        "role": "assistant",
        "content": "Hi",
        "refusal": None,
        "annotations": [],
    }
    refuse_chat_fields(chat(messages=[*HELLO, answer | {"tool_calls": None}]))
