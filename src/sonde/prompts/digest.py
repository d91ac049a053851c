"""A short name for a prompt's exact tokens, so that two prompts are never taken for one."""

import hashlib
from collections.abc import Sequence


def prompt_digest(tokens: Sequence[int]) -> str:
    """Equal for equal tokens, and for practical purposes only then."""
    return hashlib.sha256(" ".join(map(str, tokens)).encode()).hexdigest()[:16]
