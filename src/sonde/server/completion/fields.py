"""OpenAI's fields that this server cannot honour, refused by name when they would have an effect.

A field that is sent with the value it has by default is fine: clients do that. Fields that never
change the answer (`user`, `metadata`, `store`, `service_tier`, cache and safety identifiers) are
not here at all.
"""

from collections.abc import Callable, Mapping
from typing import Any

from sonde.schema import ChatRequest, CompletionRequest, Message
from sonde.schema.completion import Asking
from sonde.server.errors import OpenAIError

Harmless = Callable[[Any], bool]


def _is(*values: object) -> Harmless:
    return lambda value: value in values


def _empty(value: Any) -> bool:
    return not value


NO_TOOLS = "the model calls no tools"
TEXT_ONLY = "text comes in and text goes out"
NO_BIAS = "repetition_penalty is what there is"

COMPLETION: Mapping[str, tuple[Harmless, str]] = {
    "suffix": (_empty, "text is continued, not filled in"),
}

BOTH: Mapping[str, tuple[Harmless, str]] = {
    "presence_penalty": (_is(None, 0), NO_BIAS),
    "frequency_penalty": (_is(None, 0), NO_BIAS),
    "logit_bias": (_empty, NO_BIAS),
}

CHAT: Mapping[str, tuple[Harmless, str]] = {
    "audio": (_is(None), TEXT_ONLY),
    "modalities": (_is(None, [], ["text"]), TEXT_ONLY),
    "tools": (_empty, NO_TOOLS),
    "tool_choice": (_is(None, "none", "auto"), NO_TOOLS),
    "functions": (_empty, NO_TOOLS),
    "function_call": (_is(None, "none", "auto"), NO_TOOLS),
    "web_search_options": (_is(None), NO_TOOLS),
    "response_format": (_is(None, {"type": "text"}), "answers follow no grammar"),
    "prediction": (_is(None), "answers are not predicted"),
    "moderation": (_is(None), "nothing is moderated"),
    "reasoning_effort": (_is(None, "none"), "there is no reasoning to limit"),
    "verbosity": (_is(None, "medium"), "the length of an answer is the model's; use max_tokens"),
}

MESSAGE: Mapping[str, tuple[Harmless, str]] = {
    "name": (_is(None), "chat templates know no names; write it into the content"),
    "refusal": (_is(None), "chat templates know no refusals; write it into the content"),
    "annotations": (_empty, TEXT_ONLY),
    "audio": (_is(None), TEXT_ONLY),
    "function_call": (_is(None), NO_TOOLS),
    "tool_calls": (_empty, NO_TOOLS),
}


def refuse_completion_fields(request: CompletionRequest) -> None:
    """Raise for the first field of a completion that cannot be honoured."""
    _refuse_common(request)
    _refuse(request, COMPLETION)
    if request.best_of not in (None, request.n or 1):
        raise OpenAIError(
            f"best_of is {request.best_of} and n is {request.n or 1}; all choices are sent, so "
            "leave best_of out or make them equal",
            param="best_of",
        )
    if request.logprob_token_ids and request.echo and request.max_tokens == 0:
        raise OpenAIError(
            "logprob_token_ids are of generated tokens, and with echo and max_tokens 0 there are "
            "none; leave them out",
            param="logprob_token_ids",
        )


def refuse_chat_fields(request: ChatRequest) -> None:
    """Raise for the first field of a chat completion that cannot be honoured."""
    _refuse_common(request)
    _refuse(request, CHAT)
    refuse_message_fields(request.messages)
    limits = {request.max_tokens, request.max_completion_tokens} - {None}
    if len(limits) > 1:
        raise OpenAIError(
            f"max_tokens is {request.max_tokens} and max_completion_tokens is "
            f"{request.max_completion_tokens}; they mean the same: send one",
            param="max_completion_tokens",
        )
    if request.continue_final_message and request.add_generation_prompt:
        raise OpenAIError(
            "continue_final_message and add_generation_prompt are both true: the last message is "
            "continued, or another one begins; send one",
            param="continue_final_message",
        )
    if request.top_logprobs is not None and not request.logprobs:
        raise OpenAIError("top_logprobs needs logprobs: true", param="top_logprobs")


def refuse_message_fields(messages: list[Message]) -> None:
    """Raise for the first field of a message that no chat template would write."""
    for i, message in enumerate(messages):
        _refuse(message, MESSAGE, f"messages.{i}.")


def _refuse_common(request: Asking) -> None:
    _refuse(request, BOTH)
    if request.stream_options is not None and not request.stream:
        raise OpenAIError("stream_options needs stream: true", param="stream_options")


def _refuse(
    request: Asking | Message, fields: Mapping[str, tuple[Harmless, str]], before: str = ""
) -> None:
    for field, (harmless, why) in fields.items():
        if not harmless(getattr(request, field)):
            raise OpenAIError(
                f"{before}{field} is not supported: {why}; leave it out", param=before + field
            )
