"""Where the tokens of an echoed prompt begin in its text."""

from collections.abc import Sequence
from itertools import accumulate

from sonde.backends.base import Backend
from sonde.server.completion.decoding import Decoder, InnerText


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
