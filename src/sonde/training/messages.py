"""Prompts and completions as text, whichever way a dataset spells them."""

from typing import Any


def text_of(said: Any) -> str:
    """A prompt or a completion as text: as it is, or the contents of its messages."""
    if isinstance(said, str):
        return said
    return "\n".join(str(message.get("content", "")) for message in said)
