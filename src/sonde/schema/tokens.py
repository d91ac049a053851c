"""Text to tokens and back, on the wire."""

from pydantic import Field

from sonde.schema.base import Whole, Wire
from sonde.schema.chat import Message


class TokenizeRequest(Wire):
    """A text or a conversation, as the model is given it."""

    model: str | None = None
    prompt: str | None = None
    messages: list[Message] | None = Field(default=None, min_length=1)
    """Instead of `prompt`: rendered by the model's chat template."""
    add_special_tokens: bool | None = None
    """True for a prompt; a chat template brings its own, so false for messages."""
    add_generation_prompt: bool = True
    """With `messages`: end where the assistant's answer begins."""
    continue_final_message: bool = False
    """With `messages`: end within the last one, so that an answer goes on with it."""
    return_token_strs: bool | None = False


class Tokens(Wire):
    """The token ids of a text."""

    count: int
    max_model_len: int
    tokens: list[int]
    token_strs: list[str] | None = None
    """The text of each token, leading space included; empty for special tokens."""


class DetokenizeRequest(Wire):
    """Token ids whose text is wanted."""

    model: str | None = None
    tokens: list[Whole]


class Text(Wire):
    """The text of some tokens; special ones have none."""

    prompt: str
