"""Conversations become the tokens that the model's template gives them."""

from typing import Any

import pytest

from sonde.engine import Limits
from sonde.errors import BadRequest
from sonde.schema import Message
from sonde.server.completion.chat_prompt import chat_tokens
from tests.server.tiny_server import chatting_backend


def rendered(*messages: tuple[str, Any], **options: Any) -> str:
    backend = chatting_backend()
    said = [Message.model_validate({"role": r, "content": c}) for r, c in messages]
    return backend.detokenize(chat_tokens(said, backend, Limits(), **options))


def test_the_template_writes_the_conversation() -> None:
    found = rendered(("system", "Be kind"), ("user", "Hello"))
    assert found == "system: Be kind\nuser: Hello\nassistant:"


def test_without_a_generation_prompt_it_ends_with_the_last_message() -> None:
    assert rendered(("user", "Hello"), generation_prompt=False) == "user: Hello\n"


def test_parts_of_text_are_joined_and_a_developer_is_the_system() -> None:
    parts = [{"type": "text", "text": "Be "}, {"type": "text", "text": "kind"}]
    assert rendered(("developer", parts)) == "system: Be kind\nassistant:"


def test_a_conversation_that_the_template_refuses_is_refused() -> None:
    with pytest.raises(BadRequest, match="the chat template refuses these messages: not this"):
        rendered(("user", "refuse me"))


def test_a_model_without_a_template_says_so() -> None:
    message = Message(role="user", content="Hello")
    with pytest.raises(BadRequest, match="no chat template; give it a prompt"):
        chat_tokens([message], chatting_backend(template=None), Limits())


def test_a_conversation_beyond_reason_is_refused_before_it_is_tokenized() -> None:
    message = Message(role="user", content="Hello")
    with pytest.raises(BadRequest, match="messages of 10 characters; at most 9"):
        chat_tokens([message, message], chatting_backend(), Limits(prompt_chars=9))
