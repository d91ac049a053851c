"""How a request points at tokens and layers."""

from typing import Annotated, Literal

from pydantic import Field

from sonde.schema.base import Whole, Wire


class SpanPosition(Wire):
    """The tokens that overlap a substring of the prompt."""

    span: str
    """The substring. A leading space does not matter when it belongs to the same token."""
    occurrence: Whole = Field(default=0, ge=0)
    """Which match, from 0; overlapping matches count."""


class LayerRange(Wire):
    """Layers `start`, `start + step`, … below `stop`, as in Python."""

    start: Whole
    stop: Whole
    step: Whole = Field(default=1, ge=1)


Position = Whole | SpanPosition
Positions = Annotated[list[Position], Field(max_length=100_000)] | Literal["all_prompt"]
Layers = Annotated[list[Whole], Field(max_length=10_000)] | LayerRange
"""Lists are refused by their length before their items are looked at."""

Pairing = Literal["strict", "first", "last", "proportional", "mean"]
"""What to do with the tokens between the common prefix and the common suffix when the two prompts
have different lengths. `strict` leaves them out; `first` and `last` pair them counted from that
end; `proportional` spreads them over the other span; `mean` gives each the other span's mean."""


Prompt = str | Annotated[list[Whole], Field(min_length=1, max_length=1_000_000)]
"""A text, or the tokens themselves: those of a recorded completion need not come out of its text
again."""

Answer = Annotated[str, Field(min_length=1)] | Whole
Answers = Answer | Annotated[list[Answer], Field(min_length=1, max_length=64)]
"""One answer by its text or its token id, or several whose probabilities are added. A text may be
several tokens: each is graded after those before it."""


class Alignment(Wire):
    """How positions of the corrupt prompt were matched with positions of the clean one."""

    n_clean: int
    n_corrupt: int
    prefix_len: int
    suffix_len: int
    unaligned_positions: list[int]
    pairing: Pairing = "strict"
    paired: list[tuple[int, list[int]]] = []
    """Positions paired by `pairing` or by `source_positions`, each with its clean positions."""
