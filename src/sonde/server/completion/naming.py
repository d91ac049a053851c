"""Tokens as log-probabilities name them: by their text, and never two by one name."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sonde.server.completion.decoding import PARTIAL, InnerText

FLOOR = -9999.0
"""Stands for minus infinity, which JSON does not have."""


@dataclass(frozen=True)
class Named:
    """A token and its log-probability."""

    token: int
    name: str
    text: str | None
    """Its own text; None when it has none."""
    logprob: float


class TokenNames:
    """Names of tokens, remembered."""

    def __init__(self, text: InnerText) -> None:
        self._text = text
        self._known: dict[int, str | None] = {}

    def named(self, token: int, logprob: float) -> Named:
        """One token. What is no text of its own is named by its id."""
        text = self._own_text(token)
        return Named(token, _by_id(token) if text is None else text, text, max(logprob, FLOOR))

    def ranked(self, logprobs: Mapping[int, float]) -> list[Named]:
        """Several tokens, likeliest first. Of two with the same text the likelier one has it."""
        taken: set[str] = set()
        out = []
        for token, logprob in sorted(logprobs.items(), key=lambda each: -each[1]):
            named = self.named(token, logprob)
            if named.name in taken:
                named = replace(named, name=_by_id(token))
            taken.add(named.name)
            out.append(named)
        return out

    def _own_text(self, token: int) -> str | None:
        if token not in self._known:
            text = self._text.of([token])
            self._known[token] = None if not text or PARTIAL in text else text
        return self._known[token]


def _by_id(token: int) -> str:
    return f"token_id:{token}"
