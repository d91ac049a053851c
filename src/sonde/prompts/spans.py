"""Which tokens of a prompt a request means.

A token covers a half-open interval of characters; a span selects every token that shares at least
one character with one match of its text. Special tokens cover nothing, so no span selects them,
while `all_prompt` and plain numbers do.

Deliberately not a search: the text has to be in the prompt letter for letter. A near match would
patch tokens that nobody named, and the numbers would look the same.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sonde.errors import BadRequest, PositionOutOfRange, SpanNotFound
from sonde.schema import Position, Positions, SpanPosition

Interval = tuple[int, int]
"""Start and end in characters, half-open."""

_SHOWN = 200
"""Characters of a prompt or a span that an error message repeats."""


@dataclass(frozen=True)
class Span:
    """The tokens of a piece of the prompt, as a user writes it.

    Span("Colosseum")        # the first match
    Span("the", 1)           # the second
    """

    text: str
    occurrence: int = 0

    def __post_init__(self) -> None:
        if self.occurrence < 0:
            raise BadRequest(
                f"occurrence {self.occurrence} of span {self.text!r} is out of range; "
                "matches are counted from 0, the first in the prompt"
            )

    def to_wire(self) -> SpanPosition:
        """The same span as it goes into a request."""
        return SpanPosition(span=self.text, occurrence=self.occurrence)


def find_matches(text: str, prompt: str) -> list[int]:
    """Where `text` begins in `prompt`; matches may overlap, so "aa" is in "aaaa" three times."""
    starts: list[int] = []
    start = prompt.find(text)
    while start != -1:
        starts.append(start)
        start = prompt.find(text, start + 1)
    return starts


def tokens_overlapping(match: Interval, offsets: Sequence[Interval]) -> list[int]:
    """Positions of the tokens that share a character with `match`, ascending."""
    first, last = match
    return [
        position
        for position, (start, end) in enumerate(offsets)
        if max(start, first) < min(end, last)
    ]


def resolve_positions(
    positions: Positions, *, prompt: str, offsets: Sequence[Interval]
) -> list[int]:
    """Token positions of a request, in its order.

    `offsets` has one interval per token and indexes `prompt`. Duplicates are dropped, keeping the
    first, as soon as one span is present, because spans overlap by accident; a list of plain
    numbers is somebody's choice and stays as it is.
    """
    if positions == "all_prompt":
        return list(range(len(offsets)))
    expanded = expand_positions(positions, prompt=prompt, offsets=offsets)
    if any(isinstance(position, SpanPosition) for position in positions):
        return list(dict.fromkeys(expanded))
    return expanded


def expand_positions(
    positions: Sequence[Position], *, prompt: str, offsets: Sequence[Interval]
) -> list[int]:
    """Every item replaced by its tokens, duplicates kept.

    For `source_positions`: there one clean token may well serve several corrupt ones.
    """
    expanded: list[int] = []
    for position in positions:
        if isinstance(position, SpanPosition):
            expanded += _tokens_of(position, prompt=prompt, offsets=offsets)
        else:
            _check_position(position, len(offsets))
            expanded.append(position)
    return expanded


def offsets_by_decoding(
    tokens: Sequence[int], decode: Callable[[Sequence[int]], str]
) -> list[Interval]:
    """Intervals for a tokenizer that reports none. They index `decode(tokens)`, not the prompt.

    A token's interval is what the decoded text grows by when the token is added. A token that ends
    inside a character reaches over it, and the next one begins with it, so a span on a character
    selects all of its tokens. A token that decodes to nothing is special: its interval is empty.
    """
    text = decode(tokens)
    offsets: list[Interval] = []
    start = 0
    for index, token in enumerate(tokens):
        decoded = decode(tokens[: index + 1])
        settled = _settled(decoded, text, start)
        if settled == start and decode([token]) == "":
            offsets.append((start, start))
        else:
            offsets.append((start, min(settled + (len(decoded) > settled), len(text))))
        start = settled
    return offsets


def _settled(decoded: str, text: str, start: int) -> int:
    """Up to where `decoded` agrees with `text`, both known to agree before `start`.

    Beyond that point lies a character whose last bytes are still to come.
    """
    while start < min(len(decoded), len(text)) and decoded[start] == text[start]:
        start += 1
    return start


def _tokens_of(span: SpanPosition, *, prompt: str, offsets: Sequence[Interval]) -> list[int]:
    start = _start_of(span, prompt)
    tokens = tokens_overlapping((start, start + len(span.span)), offsets)
    if not tokens:
        raise SpanNotFound(
            f"span {_shown(span.span)} covers no token of the prompt {_shown(prompt)}: the "
            f"tokenizer made none of the text at character {start}; choose text beside it"
        )
    return tokens


def _start_of(span: SpanPosition, prompt: str) -> int:
    if not span.span:
        raise SpanNotFound("a span must be non-empty text of the prompt; 'all_prompt' selects all")
    starts = find_matches(span.span, prompt)
    if not starts:
        raise SpanNotFound(
            f"span {_shown(span.span)} not found in the prompt {_shown(prompt)}; "
            f"{_advice(span.span, prompt)}"
        )
    if not 0 <= span.occurrence < len(starts):
        raise SpanNotFound(
            f"occurrence {span.occurrence} of span {_shown(span.span)} is out of range "
            f"[0, {len(starts)}): the prompt {_shown(prompt)} contains it {len(starts)} time(s)"
        )
    return starts[span.occurrence]


def _advice(text: str, prompt: str) -> str:
    """What to write instead: the prompt's own spelling where only case or blanks differ."""
    bare = text.strip()
    near = re.search(re.escape(bare), prompt, re.IGNORECASE)
    if bare and near:
        return f"did you mean {_shown(near[0])}?"
    return "copy the text from the prompt, letter for letter"


def _check_position(position: int, n_tokens: int) -> None:
    if not 0 <= position < n_tokens:
        raise PositionOutOfRange(position, n_tokens)


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
