"""A chat completion on the wire: messages in, one message out. Text only."""

from typing import Any, Literal

from pydantic import Field

from sonde.schema.base import Whole, Wire
from sonde.schema.completion import Asking, CaptureResult, FinishReason, PromptLogprobs, Usage


class TextPart(Wire):
    """A piece of a message."""

    type: Literal["text"]
    text: str


class Message(Wire):
    """One turn of a conversation.

    The other fields of OpenAI's messages are accepted as long as they say nothing: an answer can be
    sent back as it came.
    """

    role: Literal["system", "developer", "user", "assistant"]
    """`developer` is written as `system`."""
    content: str | list[TextPart]
    name: str | None = None
    refusal: str | None = None
    annotations: list[Any] | None = None
    audio: dict[str, Any] | None = None
    function_call: dict[str, Any] | None = None
    tool_calls: list[Any] | None = None


class ChatRequest(Asking):
    """Answer a conversation."""

    messages: list[Message] = Field(min_length=1)
    max_completion_tokens: Whole | None = Field(default=None, ge=0)
    """As `max_tokens`; without either, as many as the model has room for."""
    logprobs: bool | None = None
    top_logprobs: Whole | None = Field(default=None, ge=0, le=128)
    add_generation_prompt: bool | None = None
    """End the prompt where the assistant's answer begins: true, unless a message is continued."""
    continue_final_message: bool | None = None
    """End the prompt within the last message, so that the answer goes on with it."""

    audio: dict[str, Any] | None = None
    function_call: str | dict[str, Any] | None = None
    functions: list[dict[str, Any]] | None = None
    metadata: dict[str, Any] | None = None
    modalities: list[str] | None = None
    moderation: dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    prediction: dict[str, Any] | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: dict[str, Any] | None = None
    prompt_cache_retention: str | None = None
    reasoning_effort: str | None = None
    response_format: dict[str, Any] | None = None
    safety_identifier: str | None = None
    service_tier: str | None = None
    store: bool | None = None
    tool_choice: str | dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    verbosity: str | None = None
    web_search_options: dict[str, Any] | None = None


class TokenLogprob(Wire):
    """A token and its log-probability; written as in `Logprobs`."""

    token: str
    logprob: float
    bytes: list[int] | None
    """UTF-8 of the token's text; null when it has none of its own."""


class ChatToken(TokenLogprob):
    """A generated token beside the likeliest ones, or the ones asked for."""

    top_logprobs: list[TokenLogprob]


class ChatLogprobs(Wire):
    """One entry for each generated token."""

    content: list[ChatToken]
    refusal: None = None


class Answer(Wire):
    """What the model says."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class ChatChoice(Wire):
    """One answer."""

    index: int
    message: Answer
    logprobs: ChatLogprobs | None
    finish_reason: FinishReason
    stop_reason: str | int | None = None
    """The stop string, or the id of `stop_token_ids`, that ended it; null for anything else."""


class ChatCompletion(Wire):
    """The whole answer."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    system_fingerprint: str
    choices: list[ChatChoice]
    usage: Usage
    prompt_logprobs: PromptLogprobs | None = Field(
        default=None, exclude_if=lambda value: value is None
    )
    """Where asked for; as in a completion's choice."""
    capture_results: dict[str, CaptureResult] | None = Field(
        default=None, exclude_if=lambda value: value is None
    )


class Delta(Wire):
    """What a chunk adds to an answer."""

    role: Literal["assistant"] | None = Field(default=None, exclude_if=lambda value: value is None)
    content: str | None = Field(default=None, exclude_if=lambda value: value is None)


class ChunkChoice(Wire):
    """What a chunk adds to one choice."""

    index: int
    delta: Delta
    logprobs: ChatLogprobs | None
    finish_reason: FinishReason | None
    stop_reason: str | int | None = None


class ChatChunk(Wire):
    """A part of a streamed answer."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    system_fingerprint: str
    choices: list[ChunkChoice]
    usage: Usage | None = Field(default=None, exclude_if=lambda value: value is None)
    prompt_logprobs: PromptLogprobs | None = Field(
        default=None, exclude_if=lambda value: value is None
    )
    """Where asked for, in the first chunk."""
    capture_results: dict[str, CaptureResult] | None = Field(
        default=None, exclude_if=lambda value: value is None
    )
