"""Text out of tokens as they come, and where it has to end.

A token is not a piece of text: it may hold part of a character, and some tokenizers leave out the
space of a word that comes first. So tokens are decoded after some letters, which are then taken
away, and text is held back while its last character is not whole. Text that might become a stop
string is held back too.

Where the tokens of an echoed prompt begin in its text is told here as well.
"""

from collections.abc import Sequence
from itertools import accumulate
from os.path import commonprefix
from typing import Protocol

from sonde.backends.base import Backend

PARTIAL = "\N{REPLACEMENT CHARACTER}"
"""What the bytes of half a character are decoded to."""
FIRST_TOKENS = 4096
"""Among these there is a letter."""
LONGEST_PARTIAL = 3
"""Bytes of a character that is not whole, each of which may be a token."""


class Tokenizer(Protocol):
    """The part of a backend that is needed here."""

    def detokenize(self, tokens: Sequence[int]) -> str:
        """Text of the ids; special tokens decode to nothing."""
        ...


class InnerText:
    """The text of tokens that stand after others, leading space included."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._before = _letters(tokenizer)
        self._skip = len(tokenizer.detokenize(self._before))

    def of(self, tokens: Sequence[int]) -> str:
        """What they add to the text before them."""
        return self._tokenizer.detokenize([*self._before, *tokens])[self._skip :]


def _letters(tokenizer: Tokenizer) -> list[int]:
    """A token that is plain letters; every vocabulary begins with some, after its specials."""
    for token in range(FIRST_TOKENS):
        text = tokenizer.detokenize([token])
        if text.isascii() and text.isalpha():
            return [token]
    return []


class Decoder:
    """Turns generated tokens into text, a token at a time."""

    def __init__(self, text: InnerText, prompt: Sequence[int]) -> None:
        self._text = text
        self._pending: list[int] = []
        """Tokens whose text is not certain yet; at first, the half character of a prompt."""
        if text.of(prompt[-LONGEST_PARTIAL - 1 :]).endswith(PARTIAL):
            self._pending += prompt[-LONGEST_PARTIAL:]
        self._emitted = text.of(self._pending)

    def push(self, token: int) -> str:
        """The text that is certain now and was not before."""
        self._pending.append(token)
        text = self._text.of(self._pending)
        whole = _whole(text)
        new = self._advance(whole)
        if whole == text:
            self._pending.clear()
            self._emitted = ""
        return new

    def finish(self) -> str:
        """What was held back: no token will complete it."""
        return self._advance(self._text.of(self._pending))

    def _advance(self, text: str) -> str:
        """What `text` has beyond the emitted text."""
        kept = len(self._emitted)
        if not text.startswith(self._emitted):  # the prompt's half character is whole now
            kept = len(commonprefix([text, self._emitted]))
        self._emitted = text
        return text[kept:]


def _whole(text: str) -> str:
    """Without the characters at the end that the next tokens may complete."""
    end = len(text)
    while end and text[end - 1] == PARTIAL and len(text) - end < LONGEST_PARTIAL:
        end -= 1
    return text[:end]


class StopStrings:
    """Lets text through until one of some strings is complete.

    The string that is complete first ends the text, so the end does not depend on how the text was
    cut into tokens.
    """

    def __init__(self, strings: Sequence[str], *, included: bool = False) -> None:
        """With `included`, the string that ends the text is part of it."""
        self._strings = strings
        self._included = included
        self._held = ""
        self._spared = 0
        """Up to where in `_held` a string may be complete without ending the text."""
        self.found: str | None = None

    def push(self, text: str, *, may_end: bool = True) -> str:
        """What can be shown of the text so far and was not yet.

        Without `may_end`, a string that is complete by now ends nothing, now or later.
        """
        if self.found is not None:
            return ""
        self._held += text
        if not may_end:
            self._spared = len(self._held)
        ends = [
            (start + len(string), start, string)
            for string in self._strings
            if (start := self._held.find(string, max(0, self._spared - len(string) + 1))) >= 0
        ]
        if ends:
            end, start, self.found = min(ends)
            return self._held[: end if self._included else start]
        shown = len(self._held) - self._could_begin()
        out, self._held = self._held[:shown], self._held[shown:]
        self._spared = max(0, self._spared - shown)
        return out

    def finish(self) -> str:
        """What was held back: no more text will come."""
        held, self._held = self._held, ""
        return "" if self.found is not None else held

    def _could_begin(self) -> int:
        """Length of the longest end of the text that begins a stop string."""
        most = max((len(string) for string in self._strings), default=1) - 1
        for n in range(min(most, len(self._held)), 0, -1):
            end = self._held[-n:]
            if any(string.startswith(end) for string in self._strings):
                return n
        return 0


def text_offsets(text: str, backend: Backend) -> tuple[int, ...]:
    """Of the tokens of a text. Special tokens cover nothing and begin where the one before does."""
    return tuple(accumulate((start for start, _ in backend.offsets(text)), max))


def token_offsets(tokens: Sequence[int], text: str, backend: Backend) -> tuple[int, ...]:
    """Of tokens that were given as such, in the text they decode to.

    Decoded one after the other: a token begins where the text that is certain before it ends. Some
    tokenizers leave out the space of the first word, and then all else begins that much earlier.
    """
    decoder = Decoder(InnerText(backend), ())
    starts, length = [], 0
    for token in tokens:
        starts.append(length)
        length += len(decoder.push(token))
    length += len(decoder.finish())
    return tuple(min(max(start - (length - len(text)), 0), len(text)) for start in starts)
