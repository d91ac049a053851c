"""A conversation as tokens."""

from collections.abc import Sequence

from sonde.backends.base import Backend
from sonde.engine import Limits
from sonde.errors import BadRequest
from sonde.schema import Message


def chat_tokens(
    messages: Sequence[Message],
    backend: Backend,
    limits: Limits,
    *,
    generation_prompt: bool = True,
    continue_final: bool = False,
) -> list[int]:
    """The conversation as the model's chat template writes it."""
    plain = [{"role": _role(message), "content": _content(message)} for message in messages]
    chars = sum(len(message["content"]) for message in plain)
    if chars > limits.prompt_chars:
        raise BadRequest(f"messages of {chars} characters; at most {limits.prompt_chars}")
    return backend.render_chat(
        plain, generation_prompt=generation_prompt, continue_final=continue_final
    )


def _role(message: Message) -> str:
    """`developer` is OpenAI's newer word for `system`, which templates know."""
    return "system" if message.role == "developer" else message.role


def _content(message: Message) -> str:
    if isinstance(message.content, str):
        return message.content
    return "".join(part.text for part in message.content)
